"""What keeps a guard out of reach of the processes that it watches, which run as the same user."""

import ctypes
import os

__all__ = ["give_up_tracing", "hide_memory"]

_SET_DUMPABLE = 4
_VERSION_3 = 0x20080522
_SYS_PTRACE = 19


def hide_memory() -> None:
    """Let no process of the same user read or trace this one, or take its descriptors.

    /proc/self belongs to root from here on: what a user's process reads there it has to read before.

    Raises:
        OSError: the kernel refuses.
    """
    _checked(ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0))


def give_up_tracing() -> None:
    """Take from this thread, and what it starts, the right of root to trace what may not be traced.

    Behind a filter no program gives a right back: the kernel sees to that.

    Raises:
        OSError: the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()
    _checked(libc.capget(ctypes.byref(header), ctypes.byref(sets)))
    for index in range(3):  # effective, permitted and inheritable; the upper halves follow
        sets[index] &= ~(1 << _SYS_PTRACE)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    _checked(libc.capset(ctypes.byref(header), ctypes.byref(sets)))


def _checked(answer: int) -> None:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
