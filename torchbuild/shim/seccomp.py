"""The filter that lets the kernel tell us of every call which names an address, before it happens.

A filter belongs to the thread that installs it and to whatever that thread starts: threads, children,
other programs. Calls without an address cost the few instructions below and no switch to us.

Numbers: Linux 6.18, ``arch/x86/entry/syscalls/syscall_64.tbl`` and ``syscall_32.tbl``,
``include/uapi/asm-generic/unistd.h`` (aarch64), ``arch/arm/tools/syscall.tbl``; ``uapi/linux/audit.h``,
``uapi/linux/seccomp.h``, ``uapi/linux/bpf_common.h``. Checked 2026-11.
"""

import errno
import os
import struct
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

__all__ = ["ABIS", "Abi", "deny_program", "install", "native", "notify_program"]


class Abi(NamedTuple):
    """The numbers of one way to call the kernel."""

    audit: int
    """What the kernel calls it in a notification."""
    pointer: int
    """Bytes of an address."""
    calls: Dict[str, int]
    """Number by name."""
    seccomp: int = 0
    """Number of seccomp(2); 0 for the ways that we ourselves never use."""


_X86_64 = Abi(
    0xC000003E,
    8,
    {
        "socket": 41,
        "connect": 42,
        "sendto": 44,
        "sendmsg": 46,
        "sendmmsg": 307,
        "io_uring_setup": 425,
    },
    317,
)
_I386 = Abi(
    0x40000003,
    4,
    {
        "socket": 359,
        "connect": 362,
        "sendto": 369,
        "sendmsg": 370,
        "sendmmsg": 345,
        "socketcall": 102,
        "io_uring_setup": 425,
    },
)
_AARCH64 = Abi(
    0xC00000B7,
    8,
    {
        "socket": 198,
        "connect": 203,
        "sendto": 206,
        "sendmsg": 211,
        "sendmmsg": 269,
        "io_uring_setup": 425,
    },
    277,
)
_ARM = Abi(
    0x40000028,
    4,
    {
        "socket": 281,
        "connect": 283,
        "sendto": 290,
        "sendmsg": 296,
        "sendmmsg": 374,
        "io_uring_setup": 425,
    },
)
_MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM)}
ABIS = {abi.audit: abi for group in _MACHINES.values() for abi in group}
"""By what the kernel calls them."""

_NOTIFY, _ALLOW, _ERRNO = 0x7FC00000, 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_BIT = 0x40000000
_SOCKET_OF_SOCKETCALL = 1
_INET, _INET6 = 2, 10
_SET_NO_NEW_PRIVS, _SET_MODE_FILTER = 38, 1
_NEW_LISTENER = 1 << 3
_SPEC_ALLOW = 1 << 2
"""Keep what the processor may guess: before Linux 5.16 a filter alone would slow every compiler down."""

Instruction = Tuple[int, int, int, int]
Block = Callable[[Abi], List[Instruction]]


def native(machine: str) -> Optional[Tuple[Abi, ...]]:
    """The ways to call the kernel on a machine (``os.uname().machine``), its own first; None: not known."""
    return _MACHINES.get(machine)


def notify_program(abis: Tuple[Abi, ...]) -> bytes:
    """Tell us of connect and of every send that names an address; all else goes on untouched.

    io_uring, which would carry a connect past any filter, is answered as by a kernel without it.
    """
    return _program(abis, _notify_block)


def deny_program(abis: Tuple[Abi, ...]) -> bytes:
    """No Internet socket is made at all, loopback included: for kernels that tell nobody of a call."""
    return _program(abis, _deny_block)


def _program(abis: Tuple[Abi, ...], block: Block) -> bytes:
    code: List[Instruction] = []
    for abi in abis:
        body = [(_LOAD, 0, 0, _NUMBER_AT), *_no_x32(abi), *block(abi)]
        code += [(_LOAD, 0, 0, _ARCH_AT), (_EQUAL, 0, len(body), abi.audit), *body]
    code.append((_RETURN, 0, 0, _ERRNO | errno.ENOSYS))
    return b"".join(struct.pack("=HBBI", *line) for line in code)


def _no_x32(abi: Abi) -> List[Instruction]:
    """A third way on this machine, with numbers of its own; hardly a kernel has it."""
    if abi is not _X86_64:
        return []
    return [(_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]


def _on(number: int, action: int) -> List[Instruction]:
    return [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, action)]


def _notify_block(abi: Abi) -> List[Instruction]:
    code: List[Instruction] = []
    for name in ("connect", "sendmsg", "sendmmsg", "socketcall"):
        if name in abi.calls:
            code += _on(abi.calls[name], _NOTIFY)
    code += _on(abi.calls["io_uring_setup"], _ERRNO | errno.ENOSYS)
    address = _ARGUMENTS_AT + 8 * 4
    code += [  # send() is a sendto() without an address: it needs no answer of ours
        (_EQUAL, 0, 4, abi.calls["sendto"]),
        (_LOAD, 0, 0, address),
        (_EQUAL, 0, 3, 0),
        (_LOAD, 0, 0, address + 4),
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _NOTIFY),
    ]
    return code


def _deny_block(abi: Abi) -> List[Instruction]:
    unreachable = (_RETURN, 0, 0, _ERRNO | errno.ENETUNREACH)
    code = _on(abi.calls["io_uring_setup"], _ERRNO | errno.ENOSYS)
    if "socketcall" in abi.calls:  # the family lies in memory, where a filter cannot look
        code += [(_EQUAL, 0, 3, abi.calls["socketcall"]), (_LOAD, 0, 0, _ARGUMENTS_AT)]
        code += [(_EQUAL, 0, 1, _SOCKET_OF_SOCKETCALL), unreachable, (_LOAD, 0, 0, _NUMBER_AT)]
    code += [(_EQUAL, 0, 4, abi.calls["socket"]), (_LOAD, 0, 0, _ARGUMENTS_AT)]
    code += [(_EQUAL, 1, 0, _INET), (_EQUAL, 0, 1, _INET6), unreachable, (_RETURN, 0, 0, _ALLOW)]
    return code


def install(program: bytes, seccomp: int, *, listen: bool) -> int:
    """Put this thread, and all that it starts from now on, behind a filter. There is no way back.

    Programs with the set-user-id bit run as who starts them from here on: the kernel demands that.

    Args:
        program: what `notify_program` or `deny_program` made.
        seccomp: the number of seccomp(2).
        listen: whether the filter tells of calls.

    Returns:
        The descriptor from which notifications are read, or 0.

    Raises:
        ImportError: this interpreter cannot call the kernel.
        OSError: the kernel, or a filter that is there already, refuses.
    """
    import ctypes

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program, len(program))
    held = Program(len(program) // 8, ctypes.cast(code, ctypes.c_void_p))
    flags = _SPEC_ALLOW | (_NEW_LISTENER if listen else 0)
    answer = libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if answer == 0:
        answer = libc.syscall(
            ctypes.c_long(seccomp), ctypes.c_long(_SET_MODE_FILTER), ctypes.c_long(flags), ctypes.byref(held)
        )
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(answer)
