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
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

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
        "kill": 62,
        "tkill": 200,
        "tgkill": 234,
        "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297,
        "prlimit64": 302,
        "pidfd_send_signal": 424,
        "pidfd_getfd": 438,
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
        "kill": 37,
        "tkill": 238,
        "tgkill": 270,
        "rt_sigqueueinfo": 178,
        "rt_tgsigqueueinfo": 335,
        "prlimit64": 340,
        "pidfd_send_signal": 424,
        "pidfd_getfd": 438,
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
        "kill": 129,
        "tkill": 130,
        "tgkill": 131,
        "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240,
        "prlimit64": 261,
        "pidfd_send_signal": 424,
        "pidfd_getfd": 438,
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
        "kill": 37,
        "tkill": 238,
        "tgkill": 268,
        "rt_sigqueueinfo": 178,
        "rt_tgsigqueueinfo": 363,
        "prlimit64": 369,
        "pidfd_send_signal": 424,
        "pidfd_getfd": 438,
    },
)
_MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM)}
ABIS = {abi.audit: abi for group in _MACHINES.values() for abi in group}
"""By what the kernel calls them."""

_NOTIFY, _ALLOW, _ERRNO = 0x7FC00000, 0x7FFF0000, 0x00050000
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_BIT = 0x40000000
_SOCKET_OF_SOCKETCALL, _CONNECT_OF_SOCKETCALL = 1, 3
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_TYPE, _STREAM, _PACKET, _TCP = 0xF, 1, 10, 6
_FASTOPEN = 0x20000000
"""In the flags of a send: connect first."""
_TO_A_PROCESS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64")
"""Calls that stop or cripple the process, or thread, that their first argument names."""
_SET_NO_NEW_PRIVS, _SET_MODE_FILTER = 38, 1
_NEW_LISTENER = 1 << 3
_WAIT_KILLABLE = 1 << 5
"""Since Linux 5.19: once we look at a call, no signal but a deadly one makes it begin anew."""
_SPEC_ALLOW = 1 << 2
"""Keep what the processor may guess: before Linux 5.16 a filter alone would slow every compiler down."""

Instruction = Tuple[int, int, int, int]
Block = Callable[[Abi], List[Instruction]]


def native(machine: str) -> Optional[Tuple[Abi, ...]]:
    """The ways to call the kernel on a machine (``os.uname().machine``), its own first; None: not known."""
    return _MACHINES.get(machine)


def notify_program(abis: Tuple[Abi, ...], *, guards: Sequence[int] = (), alone: bool = False) -> bytes:
    """Tell us of connect and of every send that names an address; most else goes on untouched.

    Sockets are of the Unix, Internet and netlink families alone. io_uring, which would carry a connect past
    any filter, and what takes or signals by a descriptor are answered as by a kernel without them.

    Args:
        abis: from `native`.
        guards: processes and threads that nobody behind the filter may signal or limit.
        alone: whether no network namespace is around. There an Internet socket is TCP and connects by
            connect alone: of that call alone we can make sure that it ends where we looked.
    """
    return _program(abis, lambda abi: _notify_block(abi, tuple(guards), alone=alone))


def deny_program(abis: Tuple[Abi, ...]) -> bytes:
    """Only Unix and netlink sockets are made, and none connects: for kernels that tell nobody of a call."""
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


def _where(number: int, body: List[Instruction]) -> List[Instruction]:
    """Only for this call; the body returns in the end."""
    return [(_EQUAL, 0, len(body), number), *body]


def _load(argument: int, half: int = 0) -> Instruction:
    """Every machine here has the lower half first."""
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument + 4 * half)


def _refuse(error: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | error)


def _notify_block(abi: Abi, guards: Tuple[int, ...], *, alone: bool) -> List[Instruction]:
    calls = abi.calls
    code = _on(calls["connect"], _NOTIFY)
    for name in ("io_uring_setup", "pidfd_send_signal", "pidfd_getfd"):
        code += _on(calls[name], _ERRNO | errno.ENOSYS)
    if "socketcall" in calls:
        code += _socketcall(calls["socketcall"], alone=alone)
    code += _where(calls["socket"], _families(_stream_alone() if alone else _no_packets()))
    for name, flags in (("sendmsg", 2), ("sendmmsg", 3)):
        code += _where(calls[name], [*_no_fastopen(flags, alone=alone), (_RETURN, 0, 0, _NOTIFY)])
    code += _where(calls["sendto"], [*_no_fastopen(3, alone=alone), *_if_addressed()])
    if guards:
        code += _spare(tuple(calls[name] for name in _TO_A_PROCESS), guards)
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _families(internet: List[Instruction]) -> List[Instruction]:
    """By the first argument of socket(2); `internet` judges the others, and returns."""
    return [
        _load(0),
        (_EQUAL, 0, 1, _UNIX),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 1, _NETLINK),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 2, 0, _INET),
        (_EQUAL, 1, 0, _INET6),
        _refuse(errno.EAFNOSUPPORT),
        *internet,
    ]


def _no_packets() -> List[Instruction]:
    """A type that makes the kernel take the Internet family for that of raw packets."""
    return [
        _load(1),
        (_AND, 0, 0, _TYPE),
        (_EQUAL, 0, 1, _PACKET),
        _refuse(errno.EAFNOSUPPORT),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _stream_alone() -> List[Instruction]:
    return [
        _load(1),
        (_AND, 0, 0, _TYPE),
        (_EQUAL, 1, 0, _STREAM),
        _refuse(errno.ENETUNREACH),
        _load(2),
        (_EQUAL, 2, 0, 0),
        (_EQUAL, 1, 0, _TCP),
        _refuse(errno.ENETUNREACH),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _socketcall(number: int, *, alone: bool) -> List[Instruction]:
    """Its arguments lie in memory, where a filter cannot look and another thread can write."""
    if alone:
        return _on(number, _ERRNO | errno.ENOSYS)
    body = [_load(0), (_EQUAL, 0, 1, _SOCKET_OF_SOCKETCALL), _refuse(errno.ENOSYS), (_RETURN, 0, 0, _NOTIFY)]
    return _where(number, body)


def _no_fastopen(flags: int, *, alone: bool) -> List[Instruction]:
    return [_load(flags), (_ANY_BIT, 0, 1, _FASTOPEN), _refuse(errno.EOPNOTSUPP)] if alone else []


def _if_addressed() -> List[Instruction]:
    """send() is a sendto() without an address: it needs no answer of ours."""
    return [
        _load(4),
        (_EQUAL, 0, 3, 0),
        _load(4, 1),
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _NOTIFY),
    ]


def _spare(numbers: Tuple[int, ...], guards: Tuple[int, ...]) -> List[Instruction]:
    """For these calls: an error where their first argument is one of the guards."""
    body = [_load(0)]
    for guard in guards:
        body += [(_EQUAL, 0, 1, guard), _refuse(errno.EPERM)]
    body.append((_RETURN, 0, 0, _ALLOW))
    last = len(numbers) - 1
    tests = [(_EQUAL, last - at, 0 if at < last else len(body), number) for at, number in enumerate(numbers)]
    return [*tests, *body]


def _deny_block(abi: Abi) -> List[Instruction]:
    calls = abi.calls
    code = _on(calls["io_uring_setup"], _ERRNO | errno.ENOSYS)
    code += _on(calls["connect"], _ERRNO | errno.ECONNREFUSED)
    if "socketcall" in calls:
        body = [_load(0), (_EQUAL, 0, 1, _SOCKET_OF_SOCKETCALL), _refuse(errno.ENETUNREACH)]
        body += [(_EQUAL, 0, 1, _CONNECT_OF_SOCKETCALL), _refuse(errno.ECONNREFUSED)]
        code += _where(calls["socketcall"], [*body, (_RETURN, 0, 0, _ALLOW)])
    code += _where(calls["socket"], _families([_refuse(errno.ENETUNREACH)]))
    return [*code, (_RETURN, 0, 0, _ALLOW)]


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
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0:
        raise _failure()
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER) if listen else (0,):
        answer = libc.syscall(
            ctypes.c_long(seccomp),
            ctypes.c_long(_SET_MODE_FILTER),
            ctypes.c_long(_SPEC_ALLOW | flags),
            ctypes.byref(held),
        )
        if answer >= 0:
            return int(answer)
    raise _failure()


def _failure() -> OSError:
    import ctypes

    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
