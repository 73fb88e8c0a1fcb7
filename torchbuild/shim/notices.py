"""What the kernel tells of a call that waits for our word, and the addresses that the call names."""

import errno
import fcntl
import os
import struct
from typing import Dict, List, NamedTuple, Optional, Tuple

from .seccomp import ABIS, Abi

__all__ = ["Destination", "Notice", "answer", "destinations", "finish", "receive", "rewrite", "waits"]

_RECEIVE, _SEND, _VALID, _VALID_OLD = 0xC0502100, 0xC0182101, 0x40082102, 0x80082102
_NOTICE, _ANSWER = "=QIIiIQ6Q", "=QqiI"
_CONTINUE = 1
_WIDE = 8
"""Bytes of an address of a 64-bit program."""
_SOCKETCALLS = {3: ("connect", 3), 11: ("sendto", 6), 16: ("sendmsg", 3), 20: ("sendmmsg", 4)}
_MOST_MESSAGES = 1024
"""As many as one sendmmsg(2) can carry."""
_LONGEST_ADDRESS = 128


class Notice(NamedTuple):
    """One call that waits."""

    number: int
    """The kernel's own number of this waiting call."""
    pid: int
    """The thread that calls."""
    abi: Optional[Abi]
    """How it calls; None for a way that no filter of ours lets through to here."""
    call: str
    """Name of the call."""
    arguments: Tuple[int, ...]


class Destination(NamedTuple):
    """One address that a call names."""

    at: int
    """Where it lies in the caller's memory."""
    address: bytes
    """A sockaddr, its family first."""
    descriptor: int
    """The caller's socket."""
    connects: bool
    """Whether the call is a connect, however it was made."""


def receive(listener: int) -> Optional[Notice]:
    """The next call that waits; None where its thread was gone before we looked."""
    buffer = bytearray(struct.calcsize(_NOTICE))
    try:
        fcntl.ioctl(listener, _RECEIVE, buffer)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    number, pid, _, call, audit, _, *arguments = struct.unpack(_NOTICE, bytes(buffer))
    abi = ABIS.get(audit)
    names: Dict[int, str] = {value: name for name, value in abi.calls.items()} if abi is not None else {}
    return Notice(number, pid, abi, names.get(call, "call %d" % call), tuple(arguments))


def answer(listener: int, notice: Notice, error: int = 0) -> None:
    """Let the call go on, or end it with an error. A caller that is gone needs no answer."""
    _respond(listener, notice, error, 0 if error else _CONTINUE)


def finish(listener: int, notice: Notice, error: int) -> None:
    """End the call without the kernel's doing: with success, or with an error."""
    _respond(listener, notice, error, 0)


def _respond(listener: int, notice: Notice, error: int, flags: int) -> None:
    response = struct.pack(_ANSWER, notice.number, 0, -error, flags)
    try:
        fcntl.ioctl(listener, _SEND, response)
    except OSError as failure:
        if failure.errno != errno.ENOENT:
            raise


def waits(listener: int, notice: Notice) -> bool:
    """Whether the thread still waits: only then did what we read under its number come from it."""
    try:
        fcntl.ioctl(listener, _VALID, struct.pack("=Q", notice.number))
    except OSError as error:
        if error.errno == errno.ENOENT:
            return False
        return _waits_in_an_old_kernel(listener, notice)
    return True


def _waits_in_an_old_kernel(listener: int, notice: Notice) -> bool:
    """The question had another number in the first kernels that knew it."""
    try:
        fcntl.ioctl(listener, _VALID_OLD, struct.pack("=Q", notice.number))
    except OSError:
        return False
    return True


def destinations(notice: Notice) -> List[Destination]:
    """Every address that the call names; none where it goes where its socket is connected already.

    Raises:
        OSError: the caller's memory cannot be read, or the address is none.
    """
    if notice.abi is None:
        return []
    with _Memory(notice) as memory:
        call, arguments = notice.call, notice.arguments
        if call == "socketcall":
            call, arguments = _of_socketcall(memory, arguments)
        if call == "connect":
            places = [_whole(arguments[1], arguments[2])]
        elif call == "sendto":
            places = [(arguments[4], arguments[5])]
        elif call == "sendmsg":
            places = [memory.name_of(arguments[1])]
        elif call == "sendmmsg":
            count = min(arguments[2] & 0xFFFFFFFF, _MOST_MESSAGES)
            places = [memory.name_of(arguments[1] + index * memory.stride) for index in range(count)]
        else:
            places = []
        return [
            Destination(
                at,
                memory.read(at, min(size & 0xFFFFFFFF, _LONGEST_ADDRESS)),
                arguments[0] & 0xFFFFFFFF,
                call == "connect",
            )
            for at, size in places
            if at and size & 0xFFFFFFFF
        ]


def _whole(at: int, size: int) -> Tuple[int, int]:
    """Of a connect: what the kernel would refuse before it looks, it need not be asked."""
    if not 0 < size & 0xFFFFFFFF <= _LONGEST_ADDRESS:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    if not at:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    return at, size


def rewrite(notice: Notice, at: int, content: bytes) -> None:
    """Change the caller's memory while it waits.

    Raises:
        OSError: it cannot be written.
    """
    with _Memory(notice, os.O_RDWR) as memory:
        memory.write(at, content)


def _of_socketcall(memory: "_Memory", arguments: Tuple[int, ...]) -> Tuple[str, Tuple[int, ...]]:
    """The one call through which old 32-bit programs make all others."""
    name, count = _SOCKETCALLS.get(arguments[0], ("", 0))
    return name, struct.unpack("=%dI" % count, memory.read(arguments[1], 4 * count))


class _Memory:
    """Another process's memory."""

    def __init__(self, notice: Notice, flags: int = os.O_RDONLY) -> None:
        self._file = os.open("/proc/%d/mem" % notice.pid, flags | os.O_CLOEXEC)
        self._wide = notice.abi is not None and notice.abi.pointer == _WIDE
        self.stride = 64 if self._wide else 32
        """Bytes of a mmsghdr."""

    def __enter__(self) -> "_Memory":  # noqa: PYI034  Self is younger than the oldest interpreter
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def read(self, at: int, size: int) -> bytes:
        content = os.pread(self._file, size, at)
        if len(content) != size:
            raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
        return content

    def write(self, at: int, content: bytes) -> None:
        if os.pwrite(self._file, content, at) != len(content):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def name_of(self, at: int) -> Tuple[int, int]:
        """Place and size of the address in a msghdr."""
        form = "=QI" if self._wide else "=II"
        place, size = struct.unpack(form, self.read(at, struct.calcsize(form)))
        return place, size
