"""The name server that knows nobody."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Iterator

import pytest

from torchbuild.shim.sinkhole import Question, Sinkhole, parse_question, reply


def query(name: str, kind: int = 1, flags: int = 0x0100) -> bytes:
    """A question as a resolver asks it."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".") if part)
    return struct.pack(">HHHHHH", 0x1234, flags, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


def test_a_question_is_read() -> None:
    """Names are told in lower case, whatever resolvers do to their letters."""
    message = query("PyPi.Example", 28) + b"further records"

    assert parse_question(message) == Question("pypi.example", 28, len(query("PyPi.Example")))
    assert parse_question(query("")) == Question("", 1, 17)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        query("a.example")[:-1],
        query("a.example")[:15],
        query("a.example", flags=0x8180),
        struct.pack(">HHHHHH", 1, 256, 0, 0, 0, 0),
        struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + b"\xc0\x0c" * 3,
        struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + b"\x3f" * 640,
    ],
)
def test_what_is_no_question_is_none(message: bytes) -> None:
    """Anything may arrive; only a whole question of the format counts."""
    assert parse_question(message) is None


def test_a_name_with_any_byte_can_be_written() -> None:
    """A hostile name cannot write control characters into a record."""
    message = struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + b"\x04a\x1b\n.\0" + struct.pack(">HH", 1, 1)
    question = parse_question(message)

    assert question is not None
    assert question.name == "a\\033\\012\\056"


@pytest.mark.parametrize(
    ("name", "kind", "data"),
    [
        ("localhost", 1, b"\x7f\0\0\1"),
        ("sub.localhost", 1, b"\x7f\0\0\1"),
        ("localhost.lan", 1, b"\x7f\0\0\1"),
        ("localhost", 28, b"\0" * 15 + b"\1"),
        (socket.gethostname(), 1, b"\x7f\0\0\1"),
        ("1.0.0.127.in-addr.arpa", 12, b""),
        ("cache.example", 1, b"\x7f\1\0\1"),
        ("cache.example", 28, b""),
    ],
)
def test_own_and_named_hosts_may_be_asked_for(name: str, kind: int, data: bytes) -> None:
    """A build may ask for its own machine and for named endpoints; that stops nothing."""
    message = query(name, kind)
    question = parse_question(message)
    assert question is not None

    content, known = reply(message, question, {"cache.example": "127.1.0.1"})

    assert known
    assert content[:2] == message[:2]
    assert content.endswith(data)
    assert struct.unpack_from(">H", content, 6) == (1 if data else 0,)


@pytest.mark.parametrize("name", ["pypi.example", "1.2.0.192.in-addr.arpa", "notlocalhost", ""])
def test_all_other_names_do_not_exist(name: str) -> None:
    """The answer says so, and the name is one to tell of."""
    message = query(name)
    question = parse_question(message)
    assert question is not None

    content, known = reply(message, question, {})

    assert not known
    assert content[3] & 0x0F == 3


@pytest.fixture
def server() -> Iterator[Sinkhole]:
    """A sinkhole that denies names."""
    made = Sinkhole("origin", {}, denies=True)
    yield made
    made.close()


def taken(server: Sinkhole) -> list[str]:
    """What it was asked, from whichever socket it can read."""
    ready, _, _ = select.select(list(server.descriptors), [], [], 5)
    return [name for descriptor in ready for name in server.descriptors[descriptor]()]


def test_a_datagram_is_answered(server: Sinkhole) -> None:
    """A resolver hears at once that there is no such name."""
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", server.port))
        client.send(b"noise")
        client.send(query("a.example"))

        assert taken(server) == ["a.example"]
        assert client.recv(512)[3] & 0x0F == 3
        assert server.answered


def test_a_stream_is_answered(server: Sinkhole) -> None:
    """The same over TCP, which long answers need."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(struct.pack(">H", len(query("b.example"))) + query("b.example"))

        assert taken(server) == ["b.example"]
        assert client.recv(512)[5] & 0x0F == 3


def test_a_stream_that_says_nothing_is_no_question(server: Sinkhole) -> None:
    """Who connects and leaves asked for no name."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"\1")
        client.shutdown(socket.SHUT_WR)

        assert taken(server) == []
        assert not server.answered


def test_a_program_to_be_stopped_gets_no_answer() -> None:
    """It must not go on with an error before it is stopped."""
    server = Sinkhole("origin", {}, denies=False)
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.1", server.port))
        client.send(query("a.example"))
        client.send(query("localhost"))

        assert taken(server) == ["a.example"]
        assert b"localhost" in client.recv(512)
    server.close()
