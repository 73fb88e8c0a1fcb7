"""A launcher that gives one process the build's fixed path, without making it on the machine.

It runs in an interpreter of its own, on the standard library alone; `launcher` gives the first words::

    [*launcher(), "--bind=SRC=DST", "--ro-bind=SRC=DST", "--no-network", "--", "/bin/true"]

The process gets a mount namespace with a root that `torchbuild.edges.sandbox_root` makes: of this machine's
entries or of an unpacked image's, all of them read-only, and each DST beside them. It gets the limits of
`torchbuild.edges.sandbox_limits`. A process-id namespace ends with the launcher,
and the launcher ends with whoever started it, SIGKILL included: nothing outlives either. An ordinary user
gets a user namespace too, in which the process keeps its number or, with ``--as-root``, is root; root needs
none.

What prevents a start is told as one line of JSON on ``--status-fd``: ``{"kind": ..., "text": ...}`` with
the kinds ``refused`` (the machine gives no namespaces), ``directory`` and ``program``.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from torchbuild.edges.sandbox_limits import apply_limits, take_processors
from torchbuild.edges.sandbox_root import build_root, call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CAPABILITIES", "NOT_STARTED", "SandboxError", "launcher", "main"]

NOT_STARTED = 125
"""The launcher's exit code where it could not start the process; the status line tells why."""

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWUSER = 0x20000, 0x4000000, 0x10000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP = 1, 24
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

CAPABILITIES = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "FSETID": 4,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "NET_BIND_SERVICE": 10,
    "SYS_CHROOT": 18,
    "SETFCAP": 31,
}
"""What a root in a build has, in every executor: its files' rights. No mounts, devices or other networks."""

_AWAITED = {signal.SIGTERM, signal.SIGCHLD}
"""What a process hears that waits for its child."""
_START = """
import sys
sys.path.append(sys.argv.pop(1))
from torchbuild.edges.sandbox import main
sys.exit(main(sys.argv[1:]))
"""
"""Isolated from the caller's variables and packages; ours come last on the path."""


def launcher(python: str = sys.executable, package_parent: str = "") -> list[str]:
    """The words that start the launcher: an interpreter, and where it finds this module."""
    place = package_parent or str(Path(__file__).resolve().parents[2])
    return [python, "-I", "-S", "-X", "utf8", "-c", _START, place]


class SandboxError(Exception):
    """Why the process could not be started.

    Attributes:
        kind: ``refused``, ``directory`` or ``program``.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class _Options(argparse.Namespace):
    bind: list[tuple[bool, str, str]]
    image: str | None
    scratch: str | None
    group: str | None
    processors: int
    as_root: bool
    no_network: bool
    chdir: str
    env: list[str]
    status_fd: int | None
    parent: int | None
    argv: list[str]


def main(arguments: Sequence[str]) -> int:
    """Run the process that `arguments` describe; its exit code, or 128 + N where signal N ended it."""
    options = _parse(arguments)
    try:
        return _launch(options)
    except SandboxError as error:
        _tell(options.status_fd, error)
        return NOT_STARTED


def _parse(arguments: Sequence[str]) -> _Options:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], usage="%(prog)s [options] -- argv…"
    )
    parser.add_argument("--bind", action="append", default=[], type=_bind, help="SRC=DST, writable")
    parser.add_argument(
        "--ro-bind", dest="bind", action="append", type=_read_only_bind, help="SRC=DST, read-only"
    )
    parser.add_argument("--image", help="an unpacked image, instead of this machine's own entries")
    parser.add_argument("--scratch", help="a directory that is the process's /tmp and /var/tmp")
    parser.add_argument("--group", help="a control group's file of processes, to be in it")
    parser.add_argument("--processors", type=int, default=0, help="how many to run on; 0 for all")
    parser.add_argument("--as-root", action="store_true", help="a user is root inside, as in an engine")
    parser.add_argument("--no-network", action="store_true", help="only a loopback device")
    parser.add_argument("--chdir", default="/", help="where the process starts")
    parser.add_argument(
        "--env", action="append", default=[], help="NAME=VALUE; the process sees no other variable"
    )
    parser.add_argument("--status-fd", type=int, help="where to tell what prevents a start")
    parser.add_argument("--parent", type=int, help="process id of the caller, to end with it")
    options = parser.parse_args(arguments[:cut], namespace=_Options())
    options.argv = list(arguments[cut + 1 :])
    if not options.argv:
        parser.error("no program after --")
    return options


def _bind(text: str) -> tuple[bool, str, str]:
    source, _, destination = text.rpartition("=")
    return False, source, destination


def _read_only_bind(text: str) -> tuple[bool, str, str]:
    return True, *_bind(text)[1:]


def _tell(descriptor: int | None, error: SandboxError) -> None:
    line = json.dumps({"kind": error.kind, "text": str(error)}) + "\n"
    with contextlib.suppress(OSError):
        os.write(2 if descriptor is None else descriptor, line.encode())


# --- the launcher, the namespace's first process, and the process itself ------------------------------


def _launch(options: _Options) -> int:
    if options.status_fd is not None:
        os.set_inheritable(options.status_fd, False)
    _enter_group(options.group)
    take_processors(options.processors)
    _enter_namespaces(as_root=options.as_root, network=not options.no_network)
    # After the user namespace: a change of credentials takes the parent-death signal away.
    _die_with_parent()
    if options.parent is not None and os.getppid() != options.parent:
        return NOT_STARTED
    alive, held = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    first = os.fork()
    if first == 0:
        os.close(held)
        _become(lambda: _first_process(options, alive), options.status_fd)
    os.close(alive)
    code = _await(first)
    os.close(held)
    return code


def _first_process(options: _Options, parent_alive: int) -> int:
    """Process 1 of the namespace: makes the place, starts the process, reaps orphans, ends with it."""
    _die_with_parent()
    if select.select([parent_alive], [], [], 0)[0]:
        return NOT_STARTED
    try:
        if options.no_network:
            # A build that writes the machine's name into a file is the same everywhere; this one resolves.
            socket.sethostname("localhost")
            _raise_loopback()
        build_root(options.bind, image=options.image, scratch=options.scratch, network=not options.no_network)
    except OSError as error:
        raise SandboxError("refused", _step(error)) from error
    child = os.fork()
    if child == 0:
        os.close(parent_alive)
        _become(lambda: _execute(options), options.status_fd)
    return _await(child)


def _execute(options: _Options) -> NoReturn:
    for number in (
        signal.SIGPIPE,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGHUP,
        signal.SIGTERM,
        signal.SIGXFSZ,
    ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
    os.umask(0o022)
    apply_limits()
    _drop_rights()
    try:
        os.chdir(options.chdir)
    except OSError as error:
        raise SandboxError("directory", f"{options.chdir}: {error.strerror}") from error
    environ = dict(pair.split("=", 1) for pair in options.env)
    try:
        os.execve(options.argv[0], options.argv, environ)  # noqa: S606  no shell is the point
    except (OSError, ValueError) as error:
        raise SandboxError("program", f"{options.argv[0]}: {error}") from error


def _drop_rights() -> None:
    """Leave root its files' rights, but not the right to remount the store or to enter another network."""
    for number in range(64):
        if number in CAPABILITIES.values():
            continue
        try:
            call("prctl", _PR_CAPBSET_DROP, number, 0, 0, 0)
        except OSError:  # beyond the last one that the kernel knows, or a user, who has none to drop
            if number > max(CAPABILITIES.values()):
                return


def _become(body: Callable[[], int], status_fd: int | None) -> NoReturn:
    """Be another process from here on: whatever happens, nothing of the caller's stack runs again."""
    code = NOT_STARTED
    try:
        code = body()
    except SandboxError as error:
        _tell(status_fd, error)
    finally:
        os._exit(code)


def _await(child: int) -> int:
    """Wait for `child`, and pass on SIGTERM to it; signals of the terminal reach it without us.

    Both are blocked since before there was a child: a handler would not run for a signal that comes as a wait
    begins, and a namespace's first process never sees one that comes before it has a handler.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return 128 - code if code < 0 else code
        if not ended and signal.sigwait(_AWAITED) == signal.SIGTERM:
            os.kill(child, signal.SIGTERM)


# --- namespaces ---------------------------------------------------------------------------------------


def _enter_group(processes: str | None) -> None:
    """Be in a control group, with all that is started from here on."""
    try:
        if processes is not None:
            Path(processes).write_text("0")
    except OSError as error:
        raise SandboxError("refused", _step(error)) from error


def _enter_namespaces(*, as_root: bool, network: bool) -> None:
    """Leave the machine's mounts, process ids and, unless asked to stay there, its network."""
    uid, gid = os.geteuid(), os.getegid()
    spaces = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWPID | (0 if network else _CLONE_NEWNET)
    if uid == 0:
        # Root without the right to do this, as in an unprivileged container, goes on as a user does.
        with contextlib.suppress(OSError):
            return call("unshare", spaces)
    try:
        call("unshare", spaces | _CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{0 if as_root else uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{0 if as_root else gid} {gid} 1")
    except OSError as error:
        raise SandboxError("refused", _step(error)) from error
    return None


def _raise_loopback() -> None:
    """A new network namespace has its loopback device, but down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack("16sH22x", b"lo", 0))
        (flags,) = struct.unpack_from("H", request, 16)
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | _IFF_UP))


def _die_with_parent() -> None:
    call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _step(error: OSError) -> str:
    return f"{error.filename or 'system call'}: {error.strerror}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
