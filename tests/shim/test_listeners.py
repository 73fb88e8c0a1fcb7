"""Who listens on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from torchbuild.shim.listeners import abstract_sockets, are_below, tcp_sockets

LOOPBACK, LOOPBACK_6 = socket.inet_aton("127.0.0.1"), socket.inet_pton(socket.AF_INET6, "::1")
MAPPED = socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1")
CHILD = """
import socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def child() -> Iterator[int]:
    """The port of a server that a process below this one holds."""
    with subprocess.Popen(
        [sys.executable, "-I", "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.communicate()


@pytest.mark.parametrize(
    ("host", "address", "counts"),
    [
        ("127.0.0.1", LOOPBACK, True),
        ("127.0.0.1", MAPPED, True),
        ("127.0.0.1", bytes(4), True),
        ("127.0.0.1", socket.inet_aton("127.0.0.2"), False),
        ("0.0.0.0", LOOPBACK, True),  # noqa: S104  the subject
        ("::1", LOOPBACK_6, True),
        ("::1", LOOPBACK, False),
        ("::", LOOPBACK, True),
        ("::", LOOPBACK_6, True),
    ],
)
def test_sockets_that_a_connection_may_end_at_are_found(host: str, address: bytes, counts: bool) -> None:
    """A server for every address counts for each of them; one for another address does not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        inode = os.fstat(server.fileno()).st_ino

        assert (inode in tcp_sockets(address, server.getsockname()[1])) == counts


def test_only_listening_sockets_count() -> None:
    """A port that is bound, or connected from, leads nowhere."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))

        assert tcp_sockets(LOOPBACK, bound.getsockname()[1]) == set()


def test_names_in_no_directory_are_found() -> None:
    """Whatever bytes the name has, it is another than its beginning."""
    with socket.socket(socket.AF_UNIX) as server:
        name = b"\0torchbuild test %d\0x" % os.getpid()
        server.bind(name)

        assert abstract_sockets(name) == {os.fstat(server.fileno()).st_ino}
        assert abstract_sockets(name[:-2]) == set()


def test_a_server_of_a_process_below_is_the_builds_own(child: int) -> None:
    """Every socket must be held below; none at all is no server."""
    held = tcp_sockets(LOOPBACK, child)
    with socket.create_server(("127.0.0.1", 0)) as mine:
        both = held | tcp_sockets(LOOPBACK, mine.getsockname()[1])

    assert are_below(held, os.getpid())
    assert (len(both), are_below(both, os.getpid()), are_below(set(), os.getpid())) == (2, False, False)
