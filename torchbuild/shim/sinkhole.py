"""A name server that knows no name but this machine's own, and tells which one it was asked for.

Whatever server a program is set up to ask, the guard leads it here; one sinkhole serves one program, so a
question needs no search for who asked it. RFC 1035 gives the format, RFC 6761 the names of this machine.
"""

import contextlib
import errno
import ipaddress
import select
import socket
import string
import struct
from typing import Any, List, Mapping, NamedTuple, Optional, Tuple

__all__ = ["Question", "Sinkhole", "parse_question", "reply"]

_A, _PTR, _AAAA, _IN = 1, 12, 28, 1
_HEADER = ">HHHHHH"
_RESPONSE, _RECURSION, _NO_SUCH_NAME = 0x8400, 0x0180, 3
_LONGEST_NAME, _LONGEST_LABEL = 255, 63
_LONGEST_MESSAGE = 4096
_ATTEMPTS = 50
_PATIENCE_S = 2.0
_PLAIN = frozenset(string.ascii_letters + string.digits + "-_*")
_LOOPBACK = "127.0.0.1"


class Question(NamedTuple):
    """The first question of a message."""

    name: str
    """Lower case, without the dot at its end."""
    kind: int
    """Number of the record type."""
    end: int
    """Where the question ends in the message."""


def parse_question(message: bytes) -> Optional[Question]:
    """What a message asks; None where it is not a question of RFC 1035."""
    size = struct.calcsize(_HEADER)
    if len(message) < size:
        return None
    _, flags, questions, _, _, _ = struct.unpack_from(_HEADER, message)
    if flags & 0x8000 or questions < 1:
        return None
    labels, at = [], size
    while at < len(message) and message[at]:
        length = message[at]
        label = message[at + 1 : at + 1 + length]
        if length > _LONGEST_LABEL or len(label) < length or at - size > _LONGEST_NAME:
            return None
        labels.append(_printable(label))
        at += 1 + length
    if at + 5 > len(message):
        return None
    (kind,) = struct.unpack_from(">H", message, at + 1)
    return Question(".".join(labels).lower(), kind, at + 5)


def _printable(label: bytes) -> str:
    """A label may hold any byte: those that no name has are written in octal."""
    return "".join(chr(byte) if chr(byte) in _PLAIN else "\\%03o" % byte for byte in label)


def reply(message: bytes, question: Question, addresses: Mapping[str, str]) -> Tuple[bytes, bool]:
    """The answer, and whether the name is one that may be asked for.

    Args:
        message: as it arrived.
        question: as `parse_question` read it.
        addresses: IPv4 addresses of the names that are let through.
    """
    own = _is_own(question.name)
    known = own or question.name in addresses
    address = addresses.get(question.name, _LOOPBACK)
    data = b""
    if known and question.kind == _A:
        data = socket.inet_aton(address)
    elif own and question.kind == _AAAA:
        data = ipaddress.ip_address("::1").packed
    (number,) = struct.unpack_from(">H", message)
    missing = not known or question.kind == _PTR
    flags = _RESPONSE | _RECURSION | (_NO_SUCH_NAME if missing else 0)
    header = struct.pack(_HEADER, number, flags, 1, 1 if data else 0, 0, 0)
    asked = message[struct.calcsize(_HEADER) : question.end]
    record = struct.pack(">HHHIH", 0xC00C, question.kind, _IN, 0, len(data)) + data if data else b""
    return header + asked + record, known


def _is_own(name: str) -> bool:
    """This machine by name, and the names of its loopback addresses; a search domain may hang on them."""
    if name.endswith((".in-addr.arpa", ".ip6.arpa")):
        return name.endswith(".127.in-addr.arpa") or name == "1." + "0." * 31 + "ip6.arpa"
    labels = name.split(".")
    machine = socket.gethostname().partition(".")[0].lower()
    return labels[-1] == "localhost" or labels[0] in ("localhost", machine)


class Sinkhole:
    """One server, on UDP and TCP, for one program."""

    def __init__(self, origin: Any, addresses: Mapping[str, str], *, denies: bool) -> None:
        """Start to listen on a free port of the loopback device.

        Args:
            origin: kept for the caller: who was led here, and what it wanted.
            addresses: as `reply` takes them.
            denies: whether other names are said not to exist; if not, their question stays open, so that
                the program does not go on before it is stopped.

        Raises:
            OSError: no port is to be had.
        """
        self.origin = origin
        self.answered = False
        """Whether a question arrived; whoever leads a program here once more makes it False again."""
        self._addresses = addresses
        self._denies = denies
        self._datagrams, self._streams = _sockets()
        self.port = int(self._datagrams.getsockname()[1])
        self.descriptors = {
            self._datagrams.fileno(): self._take_datagrams,
            self._streams.fileno(): self._take_stream,
        }
        """What to poll, and what to call where it can be read: names that may not be asked for."""

    def is_quiet(self) -> bool:
        """Whether nothing is there to be taken."""
        poll = select.poll()
        for descriptor in self.descriptors:
            poll.register(descriptor, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Listen no longer."""
        self._datagrams.close()
        self._streams.close()

    def _take_datagrams(self) -> List[str]:
        names: List[str] = []
        while True:
            try:
                message, peer = self._datagrams.recvfrom(_LONGEST_MESSAGE)
            except OSError:
                return names
            content, name = self._answer(message)
            names += name
            if content:
                with contextlib.suppress(OSError):  # the program may not wait for an answer
                    self._datagrams.sendto(content, peer)

    def _take_stream(self) -> List[str]:
        try:
            connection, _ = self._streams.accept()
        except OSError:
            return []
        with connection:
            connection.settimeout(_PATIENCE_S)
            try:
                with connection.makefile("rb") as stream:
                    (size,) = struct.unpack(">H", stream.read(2))
                    content, names = self._answer(stream.read(size))
            except (OSError, struct.error):
                return []
            if content:
                with contextlib.suppress(OSError):
                    connection.sendall(struct.pack(">H", len(content)) + content)
        return names

    def _answer(self, message: bytes) -> Tuple[bytes, List[str]]:
        question = parse_question(message)
        if question is None:
            return b"", []
        self.answered = True
        content, known = reply(message, question, self._addresses)
        if known:
            return content, []
        return content if self._denies else b"", [question.name or "."]


def _sockets() -> Tuple[socket.socket, socket.socket]:
    """Two sockets on one port."""
    for _ in range(_ATTEMPTS):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind((_LOOPBACK, 0))
        streams = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            streams.bind(datagrams.getsockname())
        except OSError:
            datagrams.close()
            streams.close()
            continue
        streams.listen(8)
        for item in (datagrams, streams):
            item.setblocking(False)
        return datagrams, streams
    raise OSError(errno.EADDRINUSE, "no free port for a name server")
