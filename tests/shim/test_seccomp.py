"""The filter's program, decoded and run as the kernel would, and the calls of 32-bit programs for real."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from torchbuild.shim.seccomp import ABIS, Abi, deny_program, native, notify_program

ALLOW, NOTIFY = 0x7FFF0000, 0x7FC00000
MACHINES = ("x86_64", "aarch64")
CASES = [
    pytest.param(abis, abi, id=f"{machine}-{abi.audit:x}")
    for machine in MACHINES
    if (abis := native(machine)) is not None
    for abi in abis
]


def refused(number: int) -> int:
    """The filter's word for an error."""
    return 0x00050000 | number


def decide(program: bytes, audit: int, call: int, arguments: tuple[int, ...] = ()) -> int:
    """Run the program over one call, as the kernel does."""
    values = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("=iIQ6Q", call, audit, 0, *values)
    code = list(struct.iter_unpack("=HBBI", program))
    at = accumulator = 0
    while True:
        operation, yes, no, value = code[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif operation == 0x15:
            at += yes if accumulator == value else no
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x45:
            at += yes if accumulator & value else no
        elif operation == 0x35:
            at += yes if accumulator >= value else no
        else:
            assert operation == 0x06
            return int(value)


@pytest.mark.parametrize(("abis", "abi"), CASES)
def test_only_calls_that_name_an_address_are_told(abis: tuple[Abi, ...], abi: Abi) -> None:
    """Every other call of a compiler goes on without a switch to us."""
    program = notify_program(abis)
    told = {call for call in range(1000) if decide(program, abi.audit, call, (3, 0, 0, 0, 1)) == NOTIFY}

    names = {"connect", "sendto", "sendmsg", "sendmmsg", "socketcall"} & set(abi.calls)
    assert told == {abi.calls[name] for name in names}


@pytest.mark.parametrize(("abis", "abi"), CASES)
@pytest.mark.parametrize(("address", "verdict"), [(0, ALLOW), (5, NOTIFY), (5 << 32, NOTIFY)])
def test_a_send_without_an_address_is_not_told(
    abis: tuple[Abi, ...], abi: Abi, address: int, verdict: int
) -> None:
    """send() on a connected socket costs nothing; an address anywhere in memory is seen."""
    call = abi.calls["sendto"]

    assert decide(notify_program(abis), abi.audit, call, (0, 0, 0, 0, address)) == verdict


@pytest.mark.parametrize(("abis", "abi"), CASES)
def test_no_way_past_the_filter(abis: tuple[Abi, ...], abi: Abi) -> None:
    """io_uring, which carries connects itself, and unknown ways to call the kernel are not there."""
    for program in (notify_program(abis), deny_program(abis)):
        assert decide(program, abi.audit, abi.calls["io_uring_setup"]) == refused(errno.ENOSYS)
        assert decide(program, 0x1234, 1) == refused(errno.ENOSYS)


def test_the_third_way_of_x86_64_is_closed() -> None:
    """x32 has numbers of its own for the same calls: none of them is there."""
    abis = native("x86_64")
    assert abis is not None

    assert decide(notify_program(abis), abis[0].audit, 0x40000000 + 42) == refused(errno.ENOSYS)


FAMILIES = [
    (1, ALLOW),
    (16, ALLOW),
    (0, errno.EAFNOSUPPORT),
    (17, errno.EAFNOSUPPORT),
    (38, errno.EAFNOSUPPORT),
]
FAMILIES += [(40, errno.EAFNOSUPPORT), (43, errno.EAFNOSUPPORT), (1 << 32 | 1, ALLOW)]


def verdict_of(seen: int) -> int:
    """What a filter says, as `ALLOW` or as the number of an error."""
    return seen & 0xFFFF if seen & 0xFFFF0000 == 0x00050000 else seen


@pytest.mark.parametrize(("abis", "abi"), CASES)
@pytest.mark.parametrize(("family", "verdict"), [*FAMILIES, (2, errno.ENETUNREACH), (10, errno.ENETUNREACH)])
def test_the_fallback_makes_only_local_sockets(
    abis: tuple[Abi, ...], abi: Abi, family: int, verdict: int
) -> None:
    """Unix and netlink sockets are made; what is not on the list is not, whatever it may be one day."""
    assert verdict_of(decide(deny_program(abis), abi.audit, abi.calls["socket"], (family, 1))) == verdict


@pytest.mark.parametrize(("abis", "abi"), CASES)
def test_the_fallback_connects_nothing(abis: tuple[Abi, ...], abi: Abi) -> None:
    """A service of the machine may listen at any path, and nobody tells us of the path."""
    program = deny_program(abis)

    assert decide(program, abi.audit, abi.calls["connect"]) == refused(errno.ECONNREFUSED)
    if "socketcall" in abi.calls:
        answers = [verdict_of(decide(program, abi.audit, abi.calls["socketcall"], (n,))) for n in (1, 3, 8)]
        assert answers == [errno.ENETUNREACH, errno.ECONNREFUSED, ALLOW]


@pytest.mark.parametrize(("abis", "abi"), CASES)
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("family", "verdict"), [*FAMILIES, (2, ALLOW), (10, ALLOW)])
def test_only_sockets_that_can_be_judged_are_made(
    abis: tuple[Abi, ...], abi: Abi, family: int, verdict: int, alone: bool
) -> None:
    """Raw packets, virtual machines' sockets and the like go past addresses that we understand."""
    program = notify_program(abis, alone=alone)

    assert verdict_of(decide(program, abi.audit, abi.calls["socket"], (family, 1 | 0o2000000))) == verdict


@pytest.mark.parametrize(("abis", "abi"), CASES)
@pytest.mark.parametrize(
    ("kind", "protocol", "shared", "alone"),
    [
        (1, 0, ALLOW, ALLOW),
        (1 | 0o4000, 6, ALLOW, ALLOW),
        (1, 132, ALLOW, errno.ENETUNREACH),
        (1, 262, ALLOW, errno.ENETUNREACH),
        (2, 0, ALLOW, errno.ENETUNREACH),
        (3, 1, ALLOW, errno.ENETUNREACH),
        (10, 0, errno.EAFNOSUPPORT, errno.ENETUNREACH),
    ],
    ids=["tcp", "nonblocking", "sctp", "mptcp", "udp", "raw", "packet"],
)
def test_alone_an_internet_socket_is_tcp(
    abis: tuple[Abi, ...], abi: Abi, kind: int, protocol: int, shared: int, alone: int
) -> None:
    """A datagram names its address at a time when another thread can change it; a connection does not."""
    arguments = (2, kind, protocol)
    for program, verdict in (
        (notify_program(abis), shared),
        (notify_program(abis, alone=True), alone),
    ):
        assert verdict_of(decide(program, abi.audit, abi.calls["socket"], arguments)) == verdict


@pytest.mark.parametrize(("abis", "abi"), CASES)
def test_alone_no_send_connects(abis: tuple[Abi, ...], abi: Abi) -> None:
    """TCP's fast open would connect to an address that we cannot hold on to."""
    program = notify_program(abis, alone=True)
    for name, flags in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        arguments = tuple(0x20004000 if at == flags else 1 for at in range(6))
        assert decide(program, abi.audit, abi.calls[name], arguments) == refused(errno.EOPNOTSUPP)
        assert decide(program, abi.audit, abi.calls[name], (1,) * 6) == NOTIFY
    if "socketcall" in abi.calls:
        assert decide(program, abi.audit, abi.calls["socketcall"], (3,)) == refused(errno.ENOSYS)


@pytest.mark.parametrize(("abis", "abi"), CASES)
def test_a_socketcall_makes_no_socket(abis: tuple[Abi, ...], abi: Abi) -> None:
    """Its family lies in memory, where another thread can change it; the rest of it is told."""
    if "socketcall" in abi.calls:
        program = notify_program(abis)
        assert decide(program, abi.audit, abi.calls["socketcall"], (1,)) == refused(errno.ENOSYS)
        assert decide(program, abi.audit, abi.calls["socketcall"], (3,)) == NOTIFY


@pytest.mark.parametrize(("abis", "abi"), CASES)
@pytest.mark.parametrize("alone", [False, True])
def test_the_guard_is_out_of_reach(abis: tuple[Abi, ...], abi: Abi, alone: bool) -> None:
    """Nothing signals or limits it, or takes a descriptor; other processes are signalled as ever."""
    program = notify_program(abis, guards=(100, 101), alone=alone)
    for name in ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64"):
        seen = [decide(program, abi.audit, abi.calls[name], (who, 9)) for who in (99, 100, 101, 102, 0)]
        assert seen == [ALLOW, refused(errno.EPERM), refused(errno.EPERM), ALLOW, ALLOW], name
    for name in ("pidfd_getfd", "pidfd_send_signal"):
        assert decide(program, abi.audit, abi.calls[name]) == refused(errno.ENOSYS)


def test_an_unknown_machine_has_no_filter() -> None:
    """Where the numbers of calls are not known, none is guessed."""
    assert native("riscv64") is None
    assert {abi.audit for machine in MACHINES for abi in native(machine) or ()} == set(ABIS)


I386 = """
static int call(int number, int a, const void *b, int c, int d) {
  int answer;
  __asm__ volatile("int $0x80" : "=a"(answer) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
  return answer;
}
struct address { unsigned short family, port; unsigned char host[4], rest[8]; };
struct part { const char *at; unsigned size; };
struct message { void *name; unsigned size; struct part *parts; unsigned count; void *control; unsigned length, flags; };
struct counted { struct message message; unsigned sent; };
void _start(void) {
  struct address where = {2, 0xbb01, {192, 0, 2, WHICH}, {0}};
  struct part part = {"x", 1};
  struct counted two[2] = {{{0, 0, &part, 1, 0, 0, 0}, 0}, {{&where, 16, &part, 1, 0, 0, 0}, 0}};
  int s = call(359, 2, (void *)2, 0, 0), code = 0;
  unsigned old[3] = {(unsigned)s, (unsigned)&where, 16};
  if (WHICH == 1) code = call(362, s, &where, 16, 0);
  if (WHICH == 2) code = call(102, 3, old, 0, 0);
  if (WHICH == 3) code = call(345, s, two, 2, 0);
  call(1, -code, 0, 0, 0);
}
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="32-bit programs of x86 run on x86_64 alone")
@pytest.mark.parametrize("which", [1, 2, 3], ids=["connect", "socketcall", "sendmmsg"])
def test_a_32_bit_program_is_seen(guard: Any, tmp_path: Path, which: int) -> None:
    """A program of another word size cannot ask unseen; the second of several messages counts too."""
    source, program = tmp_path / "i386.c", tmp_path / "i386"
    source.write_text(I386, encoding="ascii")
    flags = ("-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-no-pie")
    made = subprocess.run(
        ["gcc", *flags, f"-DWHICH={which}", "-o", program, source],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"no compiler for 32-bit programs: {made.stderr[:200]}")

    done = guard.run(str(program), options=("--keep-going",))

    if done.code == -11:
        pytest.skip("this kernel runs no 32-bit programs")
    assert (done.code, done.asked) == (errno.ENETUNREACH, [f"192.0.2.{which}:443"])
