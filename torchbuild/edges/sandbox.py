"""A launcher that gives one process the build's fixed path, without making it on the machine.

It runs in an interpreter of its own, on the standard library alone::

    python -I -S -X utf8 sandbox.py --bind SRC=DST --ro-bind SRC=DST --no-network -- /bin/true

The process gets a mount namespace whose root is a tmpfs: every entry of ``/`` is bound into it, and each
DST beside them. A process-id namespace ends with the launcher, and the launcher ends with whoever
started it, SIGKILL included: nothing outlives either. An ordinary user gets a user namespace too, in
which the process keeps its number; root needs none.

What prevents a start is told as one line of JSON on ``--status-fd``: ``{"kind": ..., "text": ...}`` with
the kinds ``refused`` (the machine gives no namespaces), ``directory`` and ``program``.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import re
import select
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["NOT_STARTED", "SandboxError", "main"]

NOT_STARTED = 125
"""The launcher's exit code where it could not start the process; the status line tells why."""

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWUSER = 0x20000, 0x4000000, 0x10000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MS_NOATIME, _MS_NODIRATIME, _MS_RELATIME = 1024, 2048, 1 << 21
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _CAP_SYS_ADMIN = 1, 24, 21
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

# A remount that drops one of these is refused in a user namespace; statvfs names them with other numbers.
_KEPT_FLAGS = (
    (os.ST_NOSUID, _MS_NOSUID),
    (os.ST_NODEV, _MS_NODEV),
    (os.ST_NOEXEC, _MS_NOEXEC),
    (os.ST_NOATIME, _MS_NOATIME),
    (os.ST_NODIRATIME, _MS_NODIRATIME),
    (os.ST_RELATIME, _MS_RELATIME),
)
_STAGING = "/tmp"  # noqa: S108  only a mount point, covered by a tmpfs of our own before anything is written
_OLD = "/.old"


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
    uid, gid = os.geteuid(), os.getegid()
    _enter_namespaces(uid, gid, network=not options.no_network)
    # After the user namespace: a change of credentials takes the parent-death signal away.
    _die_with_parent()
    if options.parent is not None and os.getppid() != options.parent:
        return NOT_STARTED
    alive, held = os.pipe()
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
        _build_root(options.bind)
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
    os.umask(0o022)
    with contextlib.suppress(OSError):
        # Root keeps its files' rights, but not the right to remount the store or to enter another network.
        _call("prctl", _PR_CAPBSET_DROP, _CAP_SYS_ADMIN, 0, 0, 0)
    try:
        os.chdir(options.chdir)
    except OSError as error:
        raise SandboxError("directory", f"{options.chdir}: {error.strerror}") from error
    environ = dict(pair.split("=", 1) for pair in options.env)
    try:
        os.execve(options.argv[0], options.argv, environ)  # noqa: S606  no shell is the point
    except (OSError, ValueError) as error:
        raise SandboxError("program", f"{options.argv[0]}: {error}") from error


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
    """Wait for `child`, and pass on SIGTERM to it; signals of the terminal reach it without us."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _frame: os.kill(child, number))
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return 128 - code if code < 0 else code


# --- namespaces ---------------------------------------------------------------------------------------


def _enter_namespaces(uid: int, gid: int, *, network: bool) -> None:
    """Leave the machine's mounts, process ids and, where asked, its network."""
    spaces = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWPID | (0 if network else _CLONE_NEWNET)
    if uid == 0:
        # Root without the right to do this, as in an unprivileged container, goes on as a user does.
        with contextlib.suppress(OSError):
            return _call("unshare", spaces)
    try:
        _call("unshare", spaces | _CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
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
    _call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


# --- the root that the process sees -------------------------------------------------------------------


def _build_root(binds: Sequence[tuple[bool, str, str]]) -> None:
    """Make a root of the machine's own top-level entries and of `binds`, and move into it."""
    resolved = [(read_only, os.path.realpath(source), target) for read_only, source, target in binds]
    replaced = {"proc", *(target.split("/")[1] for _, _, target in resolved)}
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", _STAGING, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755")
    Path(_STAGING + _OLD).mkdir()
    _call("pivot_root", _STAGING.encode(), (_STAGING + _OLD).encode())
    os.chdir("/")
    for entry in os.scandir(_OLD):
        if entry.name not in replaced:
            _adopt(entry)
    _mount_proc()
    for read_only, source, target in sorted(resolved, key=lambda bind: bind[2]):
        _bind_into(_OLD + source, target)
        if read_only:
            _make_read_only(target)
    _call("umount2", _OLD.encode(), _MNT_DETACH)
    Path(_OLD).rmdir()
    # What is written beside the binds would be lost with this tmpfs: refuse it.
    _mount(None, "/", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)


def _adopt(entry: os.DirEntry[str]) -> None:
    if entry.is_symlink():
        Path("/", entry.name).symlink_to(Path(entry.path).readlink())
    else:
        _bind_into(entry.path, f"/{entry.name}")


def _bind_into(source: str, target: str) -> None:
    """Show `source`, with everything mounted below it, at `target`, which is made where it is missing."""
    if Path(source).is_dir():
        Path(target).mkdir(parents=True, exist_ok=True)
    else:
        Path(target).touch()
    _mount(source, target, None, _MS_BIND | _MS_REC)


def _mount_proc() -> None:
    Path("/proc").mkdir()
    try:
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    except PermissionError:
        # Inside a container that masks parts of its /proc the kernel gives no unmasked one.
        _mount(f"{_OLD}/proc", "/proc", None, _MS_BIND | _MS_REC)


def _make_read_only(target: str) -> None:
    """Remount `target` and every mount below it; a bind alone ignores the read-only flag."""
    for point in _mounts_below(target):
        present = os.statvfs(point).f_flag
        kept = sum(flag for seen, flag in _KEPT_FLAGS if present & seen)
        _mount(None, point, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | kept)
        if not os.statvfs(point).f_flag & os.ST_RDONLY:
            raise OSError(errno.EROFS, "it is still writable after the remount", point)


def _mounts_below(target: str) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    points = (_unescaped(line.split(" ")[4]) for line in lines)
    return [point for point in points if point == target or point.startswith(f"{target}/")]


def _unescaped(field: str) -> str:
    """The kernel writes blanks and the like as a backslash and three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _call("mount", *texts[:3], ctypes.c_ulong(flags), texts[3], about=f"mount {source or ''} {target}")


def _call(name: str, *arguments: object, about: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), about or name)


def _step(error: OSError) -> str:
    return f"{error.filename or 'system call'}: {error.strerror}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
