"""Where a socket address leads."""

from __future__ import annotations

import ipaddress
import socket
import struct

import pytest

from torchbuild.shim.destination import Place, is_asked_by_itself, judge, led_to


def inet(host: str, port: int = 80, family: int = socket.AF_INET) -> bytes:
    """A sockaddr_in."""
    return struct.pack("=H", family) + struct.pack(">H", port) + socket.inet_aton(host) + bytes(8)


def inet6(host: str, port: int = 80) -> bytes:
    """A sockaddr_in6 with a flow label and a scope."""
    packed = ipaddress.ip_address(host).packed
    return struct.pack("=H", socket.AF_INET6) + struct.pack(">HI", port, 7) + packed + struct.pack("=I", 3)


def unix(path: bytes) -> bytes:
    """A sockaddr_un."""
    return struct.pack("=H", socket.AF_UNIX) + path


@pytest.mark.parametrize(
    ("address", "kind", "text"),
    [
        (inet("127.0.0.1"), "loopback", "127.0.0.1:80"),
        (inet("127.255.3.4"), "loopback", "127.255.3.4:80"),
        (inet("0.0.0.0"), "loopback", "0.0.0.0:80"),  # noqa: S104  an address to judge
        (inet6("::1"), "loopback", "[::1]:80"),
        (inet6("::"), "loopback", "[::]:80"),
        (inet6("::ffff:127.0.0.1"), "loopback", "127.0.0.1:80"),
        (inet("192.0.2.1"), "elsewhere", "192.0.2.1:80"),
        (inet("10.0.0.1"), "elsewhere", "10.0.0.1:80"),
        (inet("224.0.0.251", 5353), "elsewhere", "224.0.0.251:5353"),
        (inet6("fe80::1"), "elsewhere", "[fe80::1]:80"),
        (inet6("::ffff:192.0.2.1"), "elsewhere", "192.0.2.1:80"),
        (inet("192.0.2.1", 53), "name-server", "192.0.2.1:53"),
        (inet("127.0.0.53", 53), "name-server", "127.0.0.53:53"),
        (inet6("2001:db8::1", 53), "name-server", "[2001:db8::1]:53"),
        (unix(b"/torchbuild/tmp/s\0\0"), "file", "/torchbuild/tmp/s"),
        (unix(b"\0abstract"), "abstract", "@abstract"),
        (unix(b"relative"), "file", "relative"),
        (unix(b""), "here", "nothing"),
        (struct.pack("=HHII", 16, 0, 0, 0), "here", "address family 16"),
        (struct.pack("=HHII", 40, 0, 0, 2), "elsewhere", "an address of family 40"),
        (inet("192.0.2.1")[:5], "elsewhere", "an address of family 2"),
        (b"\2", "here", "nothing"),
    ],
)
def test_where_an_address_leads(address: bytes, kind: str, text: str) -> None:
    """Loopback and the build's own sockets are here, the machine's services and the rest are not."""
    place = judge(address, connects=True)

    assert (place.kind, place.text) == (kind, text)


def test_no_family_is_an_internet_address_in_a_datagram() -> None:
    """The kernel sends such a datagram; in a connect it only takes a connection back."""
    address = inet("192.0.2.1", family=0)

    raw = socket.inet_aton("192.0.2.1")
    assert judge(address, connects=False) == Place("elsewhere", "192.0.2.1:80", ("192.0.2.1", 80), raw)
    assert judge(address, connects=True).kind == "here"


def test_an_address_is_led_elsewhere_in_its_own_form() -> None:
    """The caller's address keeps its size and family; only where it leads is another place."""
    four, six = led_to(inet("192.0.2.1", 53), 4711), led_to(inet6("2001:db8::1", 53), 4711)

    assert four == inet("127.0.0.1", 4711)
    assert six == inet6("::ffff:127.0.0.1", 4711)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/run/systemd/journal/dev-log", True),
        ("/var/run/nscd/socket", True),
        ("/run/docker.sock", False),
        ("/home/x/run/nscd/socket", False),
    ],
)
def test_services_that_every_program_asks_are_known(path: str, asked: bool) -> None:
    """A C library looks for names, users and logs by itself: that a build tried says nothing about it."""
    assert is_asked_by_itself(path) == asked
