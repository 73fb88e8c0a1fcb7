"""Connects another process's socket for it: to an address that nobody but us can change any more.

A call that is let go on after a look reads its address anew, and another thread may have changed it by then.
"""

import ctypes
import errno
import fcntl
import functools
import os
import struct
from typing import Optional

__all__ = ["can_connect", "connect", "is_blocking", "process_of", "socket_of", "unix_address"]

_PIDFD_OPEN, _PIDFD_GETFD = 434, 438
"""The same on every machine since Linux 5.1 numbers calls alike."""
_UNIX = 1


def can_connect() -> bool:
    """Whether the kernel (5.6 or later), and what filters our own calls, hands out sockets at all."""
    reader, writer = os.pipe()
    try:
        os.close(socket_of(os.getpid(), reader))
    except OSError:
        return False
    finally:
        os.close(reader)
        os.close(writer)
    return True


def process_of(thread: int) -> int:
    """The process that a thread belongs to; the thread's own number where it is gone."""
    try:
        with open("/proc/%d/status" % thread, "rb") as handle:
            for line in handle:
                if line.startswith(b"Tgid:"):
                    return int(line[5:])
    except OSError:
        pass
    return thread


def socket_of(process: int, descriptor: int) -> int:
    """A descriptor of our own for what another process has under its number.

    Raises:
        OSError: it has none, or is gone, or may not be looked at.
    """
    handle = _call(_PIDFD_OPEN, process, 0)
    try:
        return _call(_PIDFD_GETFD, handle, descriptor, 0)
    finally:
        os.close(handle)


def is_blocking(descriptor: int) -> bool:
    """Whether its owner would wait for a connection."""
    return not fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_NONBLOCK


def connect(descriptor: int, address: bytes) -> int:
    """Connect; 0, or the error that the owner would have got."""
    libc = _libc()
    while libc.connect(descriptor, address, len(address)) < 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            return number
    return 0


def unix_address(file: int) -> bytes:
    """The address of a socket file that we hold open: of this one, whatever lies at its path by then."""
    return struct.pack("=H", _UNIX) + b"/proc/self/fd/%d\0" % file


@functools.lru_cache(maxsize=None)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, first: int, second: int, third: Optional[int] = None) -> int:
    libc = _libc()
    arguments = [first, second] if third is None else [first, second, third]
    answer = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
    if answer < 0:
        failure = ctypes.get_errno()
        raise OSError(failure, os.strerror(failure))
    return int(answer)
