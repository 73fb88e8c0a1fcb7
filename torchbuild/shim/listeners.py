"""Who listens on this machine: where no network namespace is around, a build may reach only its own."""

import os
import struct
from typing import Set, Tuple

from .asker import descendants

__all__ = ["abstract_sockets", "are_below", "tcp_sockets"]

_LISTENING = b"0A"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_INODE = 9
_NAME = 7


def tcp_sockets(address: bytes, port: int) -> Set[int]:
    """Inodes of the sockets that a connection to this packed IP address could end at.

    More rather than fewer: a socket for every address counts, whatever kind of address it is for.
    """
    wanted = {_plain(address), bytes(4), bytes(16)}
    found: Set[int] = set()
    for table in _TABLES:
        for fields in _rows(table):
            if len(fields) > _INODE and fields[3] == _LISTENING:
                host, number = _local(fields[1])
                if number == port and (_plain(host) in wanted or _plain(address) in (bytes(4), bytes(16))):
                    found.add(int(fields[_INODE]))
    return found


def abstract_sockets(name: bytes) -> Set[int]:
    """Inodes of the sockets with this name in no directory, its first byte a zero."""
    shown = name.replace(b"\0", b"@")
    found = set()
    for line in _lines("/proc/net/unix"):
        fields = line.split(None, _NAME)
        if len(fields) > _NAME and fields[_NAME] == shown:
            found.add(int(fields[6]))
    return found


def are_below(inodes: Set[int], pid: int) -> bool:
    """Whether there is one, and processes below this one hold every one of them."""
    missing = set(inodes)
    for child in descendants(pid) if missing else ():
        missing -= _sockets(child)
        if not missing:
            return True
    return False


def _sockets(pid: int) -> Set[int]:
    found = set()
    folder = "/proc/%d/fd" % pid
    try:
        for name in os.listdir(folder):
            try:
                target = os.readlink("%s/%s" % (folder, name))
            except OSError:  # closed while we looked
                continue
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    except OSError:  # it ended while we looked
        pass
    return found


def _local(field: bytes) -> Tuple[bytes, int]:
    host, _, port = field.partition(b":")
    words = (int(host[at : at + 8], 16) for at in range(0, len(host), 8))
    return b"".join(struct.pack("=I", word) for word in words), int(port, 16)


def _plain(address: bytes) -> bytes:
    return address[12:] if address[:12] == bytes(10) + b"\xff\xff" else address


def _rows(path: str) -> "list[list[bytes]]":
    return [line.split() for line in _lines(path)]


def _lines(path: str) -> "list[bytes]":
    try:
        with open(path, "rb") as handle:
            return handle.read().splitlines()[1:]
    except OSError:
        return []
