"""Named endpoints."""

from __future__ import annotations

import socket
import threading

import pytest

from torchbuild.shim.relay import Endpoint, join, parse_endpoint


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("Cache.Example:6379=/x/y.sock", Endpoint("cache.example", 6379, "/x/y.sock")),
        ("[2001:db8::1]:80=/x", Endpoint("2001:db8::1", 80, "/x")),
        ("10.0.0.1:80=/x=y", Endpoint("10.0.0.1", 80, "/x=y")),
    ],
)
def test_an_endpoint_is_read(text: str, endpoint: Endpoint) -> None:
    """Host, port and socket file."""
    assert parse_endpoint(text) == endpoint


@pytest.mark.parametrize(
    "text", ["", "host", "host:80", "host:=x", ":80=/x", "host:0=/x", "host:65536=/x", "host:a=/x"]
)
def test_what_is_no_endpoint_is_refused(text: str) -> None:
    """A wrong option is a wrong call, not an open door."""
    with pytest.raises(ValueError, match=r".+"):
        parse_endpoint(text)


def test_bytes_are_carried_both_ways_to_their_end() -> None:
    """Half-closed connections, as protocols use them, stay half-open."""
    inside, near = socket.socketpair()
    outside, far = socket.socketpair()
    carrier = threading.Thread(target=join, args=(near, far))
    carrier.start()
    big = b"x" * 300_000
    sender = threading.Thread(target=lambda: (inside.sendall(big), inside.shutdown(socket.SHUT_WR)))
    sender.start()

    seen = b""
    while chunk := outside.recv(65536):
        seen += chunk
    outside.sendall(b"answer after the end")
    outside.shutdown(socket.SHUT_WR)

    assert seen == big
    assert inside.recv(100) == b"answer after the end"
    assert inside.recv(100) == b""
    carrier.join()
    sender.join()
    for item in (inside, near, outside, far):
        item.close()
