"""The name servers of many programs."""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
from collections.abc import Iterator

import pytest

from torchbuild.shim.sinkholes import Origin, Sinkholes


def query(name: str) -> bytes:
    """A question for an address."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)


def origin(pid: int, *argv: str) -> Origin:
    """A program that was led to a name server."""
    return Origin({"pid": pid, "argv": [*argv]}, "192.0.2.53:53")


@pytest.fixture
def servers() -> Iterator[Sinkholes]:
    """None yet; closed at the end."""
    made = Sinkholes({}, denies=True)
    yield made
    for sinkhole in made._open.values():
        sinkhole.close()


def ask(servers: Sinkholes, who: Origin, name: str = "localhost") -> list[tuple[Origin, str]]:
    """One question of one program, taken."""
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", servers.lead(who)))
        client.send(query(name))
        return list(servers.taken(select.select(servers.descriptors(), [], [], 5)[0]))


def gone() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen(["/bin/true"]) as process:
        process.wait()
    return process.pid


def test_one_program_has_one_server(servers: Sinkholes) -> None:
    """However often it asks; another program of the same process is another."""
    ports = {servers.lead(origin(os.getpid(), "x")) for _ in range(100)}
    ports.add(servers.lead(origin(os.getpid(), "y")))

    assert (len(ports), len(servers)) == (2, 2)


def test_a_name_is_told_with_who_asked(servers: Sinkholes) -> None:
    """Names of the machine itself are not told."""
    who = origin(os.getpid(), "x")

    assert ask(servers, who) == []
    assert ask(servers, who, "a.example") == [(who, "a.example")]


def test_who_asked_nothing_is_known(servers: Sinkholes) -> None:
    """Also where it has asked before: each time that it comes counts."""
    who = origin(os.getpid(), "x")
    ask(servers, who)
    before = list(servers.unasked())
    servers.lead(who)

    assert (before, list(servers.unasked())) == ([], [who])


def test_servers_of_programs_that_are_gone_are_closed(servers: Sinkholes) -> None:
    """Not while a question lies there unread, and not where it asked nothing: both are to be told."""
    answered, silent, unread = gone(), gone(), gone()
    ask(servers, origin(answered, "answered"))
    ask(servers, origin(unread, "unread"))
    servers.lead(origin(silent, "silent"))
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.sendto(query("late.example"), ("127.0.0.1", servers.lead(origin(unread, "unread"))))
        servers.lead(origin(os.getpid(), "new"))
        told = list(servers.taken(servers.descriptors()))

    assert [item.asker["argv"] for item in servers.unasked()] == [["silent"], ["new"]]
    assert [(item.asker["argv"], name) for item, name in told] == [(["unread"], "late.example")]
    assert len(servers) == 3


def test_of_programs_that_go_on_the_oldest_server_is_closed(servers: Sinkholes) -> None:
    """Descriptors are not used up by programs that asked once and live for long."""
    for number in range(100):
        ask(servers, origin(os.getpid(), str(number)))

    assert len(servers) == 65
