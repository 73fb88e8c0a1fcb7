"""What an address means for a build without a network: its own machine, a name server, or elsewhere."""

import ipaddress
import socket
import struct
from typing import NamedTuple, Optional, Tuple

__all__ = ["Place", "is_asked_by_itself", "judge", "led_to"]

_ASKED_BY_THEMSELVES = (
    "/dev/log",
    "/run/avahi-daemon/",
    "/run/dbus/system_bus_socket",
    "/run/nscd/",
    "/run/samba/winbindd/",
    "/run/systemd/",
    "/var/lib/sss/",
    "/var/run/nscd/",
)
"""Services for names, users and logs, which a C library asks whatever the program is."""
_FAMILY_SIZE, _INET_SIZE, _INET6_SIZE = 2, 8, 24
_NAME_SERVER = 53
_HERE = {
    family
    for family in (getattr(socket, name, None) for name in ("AF_NETLINK", "AF_UNSPEC"))
    if family is not None
}


class Place(NamedTuple):
    """Where an address leads."""

    kind: str
    """``here`` (of no concern), ``loopback``, ``name-server``, ``elsewhere``; of Unix sockets ``file`` and
    ``abstract`` (named, but in no directory)."""
    text: str
    """As a person writes it."""
    where: Optional[Tuple[str, int]] = None
    """Host and port of an Internet address."""
    raw: bytes = b""
    """The packed host of an Internet address, or the path or name of a Unix socket."""


def judge(address: bytes, *, connects: bool) -> Place:
    """Tell where a sockaddr leads.

    Args:
        address: its bytes, the family first.
        connects: whether it stands in a connect, where no family means to take a connection back.
    """
    if len(address) < _FAMILY_SIZE:
        return Place("here", "nothing")
    (family,) = struct.unpack_from("=H", address)
    if family == 0 and not connects and len(address) >= _INET_SIZE:
        family = socket.AF_INET  # the kernel takes it for that in a datagram
    if family == socket.AF_UNIX:
        return _unix(address[2:])
    if family in _HERE:
        return Place("here", "address family %d" % family)
    if family == socket.AF_INET and len(address) >= _INET_SIZE:
        return _internet(ipaddress.ip_address(address[4:8]), address)
    if family == socket.AF_INET6 and len(address) >= _INET6_SIZE:
        return _internet(ipaddress.ip_address(address[8:24]), address)
    return Place("elsewhere", "an address of family %d" % family)


def is_asked_by_itself(path: str) -> bool:
    """Whether a socket file is one that programs ask without their own doing."""
    return path.startswith(_ASKED_BY_THEMSELVES)


def _unix(name: bytes) -> Place:
    if name[:1] == b"\0" and len(name) > 1:
        return Place("abstract", "@" + name[1:].decode("utf-8", "replace"), raw=name)
    path = name.split(b"\0", 1)[0]
    if not path:
        return Place("here", "nothing")
    return Place("file", path.decode("utf-8", "replace"), raw=path)


def _internet(ip: "ipaddress.IPv4Address | ipaddress.IPv6Address", address: bytes) -> Place:
    ip = getattr(ip, "ipv4_mapped", None) or ip
    (port,) = struct.unpack_from(">H", address, 2)
    host = "[%s]" % ip if isinstance(ip, ipaddress.IPv6Address) else str(ip)
    kind = "loopback" if ip.is_loopback or ip.is_unspecified else "elsewhere"
    kind = "name-server" if port == _NAME_SERVER else kind
    return Place(kind, "%s:%d" % (host, port), (str(ip), port), ip.packed)


def led_to(address: bytes, port: int) -> bytes:
    """The same sockaddr, leading to a port of the loopback device."""
    (family,) = struct.unpack_from("=H", address)
    head = address[:2] + struct.pack(">H", port)
    if family == socket.AF_INET6:
        return head + address[4:8] + ipaddress.ip_address("::ffff:127.0.0.1").packed + address[24:]
    return head + socket.inet_aton("127.0.0.1") + address[8:]
