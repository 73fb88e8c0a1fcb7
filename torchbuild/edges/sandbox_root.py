"""The root that a sandboxed process sees: a tmpfs with entries of a machine or of an image bound into it.

Standard library only: `torchbuild.edges.sandbox` runs in an interpreter without any package. All of this
happens in a mount namespace of its own; the machine sees nothing of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["build_root", "call"]

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MS_NOATIME, _MS_NODIRATIME, _MS_RELATIME = 1024, 2048, 1 << 21
_MNT_DETACH = 2

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
_SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108  the process's own: a directory that is made for it alone
_OLD = "/.old"

_DEVICES = ("full", "null", "random", "tty", "urandom", "zero")
_DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
_RESOLVER = "/etc/resolv.conf"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
_NOT_OF_AN_IMAGE = frozenset({"dev", "etc", "proc", "run", "sys", "tmp"})


def build_root(
    binds: Sequence[tuple[bool, str, str]], *, image: str | None, scratch: str | None, network: bool
) -> None:
    """Make the root, and move into it.

    Args:
        binds: what is shown beside the entries: whether it is read-only, where it is, where it is shown.
        image: an unpacked image, whose entries are shown read-only; None for this machine's own.
        scratch: a directory that is ``/tmp``; None for the machine's, or for an image one in memory.
        network: whether the process has the machine's network, and thus needs its resolver.

    Raises:
        OSError: the kernel refuses; ``filename`` tells the step.
    """
    resolver = os.path.realpath(_RESOLVER) if network else None
    entries = _OLD + (os.path.realpath(image) if image else "")
    scratch = os.path.realpath(scratch) if scratch else None
    resolved = [(read_only, os.path.realpath(source), target) for read_only, source, target in binds]
    _pivot()
    beside = {target.split("/")[1] for _, _, target in resolved} | {"proc", "run", _OLD[1:]}
    _adopt_all(entries, beside | (_NOT_OF_AN_IMAGE if image else {"tmp"} if scratch else set()))
    if image:
        _make_etc(f"{entries}/etc", resolver)
        _freeze(point for point in _mounts_below("/") if point != "/" and not _is_below(point, _OLD))
        _make_dev()
    _mount_proc()
    if image:
        _mount_sys()
    _make_run(None if image else resolver)
    if scratch or image:
        _show_scratch(scratch, _SCRATCH if image else _SCRATCH[:1])
    for read_only, source, target in sorted(resolved, key=lambda bind: bind[2]):
        _bind_into(_OLD + source, target)
        if read_only:
            _freeze(_mounts_below(target))
    call("umount2", _OLD.encode(), _MNT_DETACH)
    Path(_OLD).rmdir()
    # What is written beside the binds would be lost with this tmpfs: refuse it.
    _mount(None, "/", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)


def _pivot() -> None:
    """Move into an empty root, with the machine's below `_OLD`."""
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", _STAGING, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755")
    Path(_STAGING + _OLD).mkdir()
    call("pivot_root", _STAGING.encode(), (_STAGING + _OLD).encode())
    os.chdir("/")


def _adopt_all(folder: str, without: set[str] | frozenset[str], target: str = "/") -> None:
    """Show every entry of a folder at the place that it has there, links as links."""
    with os.scandir(folder) as scan:
        for entry in scan:
            place = os.path.join(target, entry.name)  # noqa: PTH118  names of any bytes
            if entry.name in without:
                continue
            if entry.is_symlink():
                Path(place).symlink_to(Path(entry.path).readlink())
            else:
                _bind_into(entry.path, place)


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


def _make_run(resolver: str | None) -> None:
    """An empty /run: the machine's has sockets of its services, an engine's among them."""
    _fresh("/run")
    with contextlib.suppress(OSError):
        if not Path("/var/run").is_symlink() and Path("/var/run").is_dir():
            _mount("tmpfs", "/var/run", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755")
    if resolver and resolver.startswith("/run/"):
        Path(resolver).parent.mkdir(parents=True)
        _bind_into(_OLD + resolver, resolver)


def _show_scratch(scratch: str | None, places: Sequence[str]) -> None:
    """The process's own directory for temporary files, where the root has such a place."""
    Path(places[0]).mkdir()
    for place in places:
        if not Path(place).is_dir() or Path(place).is_symlink():
            continue
        if scratch:
            _mount(_OLD + scratch, place, None, _MS_BIND | _MS_REC)
        else:
            _mount("tmpfs", place, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")


# --- what an image does not bring ---------------------------------------------------------------------


def _make_etc(folder: str, resolver: str | None) -> None:
    """The image's, with a name for the loopback address, and the machine's resolver for a network."""
    Path("/etc").mkdir()
    if Path(folder).is_dir():
        _adopt_all(folder, {"hosts", "hostname", "resolv.conf"}, "/etc")
    Path("/etc/hosts").write_text(_HOSTS)
    with contextlib.suppress(OSError):
        if resolver:
            Path(_RESOLVER).write_bytes(Path(_OLD + resolver).read_bytes())


def _make_dev() -> None:
    """The devices that every program expects, no others."""
    _fresh("/dev")
    for name in _DEVICES:
        _bind_into(f"{_OLD}/dev/{name}", f"/dev/{name}")
    for name, target in _DEVICE_LINKS.items():
        Path("/dev", name).symlink_to(target)
    _fresh("/dev/shm", mode="1777")  # noqa: S108  a tmpfs of our own
    Path("/dev/pts").mkdir()
    _mount("devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")


def _mount_sys() -> None:
    """Which processors there are; of networks, those that the process has."""
    Path("/sys").mkdir()
    try:
        _mount("sysfs", "/sys", "sysfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    except OSError:
        # A user has a right to it only together with a network namespace.
        _mount(f"{_OLD}/sys", "/sys", None, _MS_BIND | _MS_REC)
        _freeze(_mounts_below("/sys"))


# --- mounts -------------------------------------------------------------------------------------------


def _fresh(target: str, mode: str = "0755") -> None:
    Path(target).mkdir()
    _mount("tmpfs", target, "tmpfs", _MS_NOSUID | _MS_NODEV, f"mode={mode}")


def _freeze(points: Iterable[str]) -> None:
    """Remount each read-only; a bind alone ignores that flag."""
    for point in points:
        present = os.statvfs(point).f_flag
        kept = sum(flag for seen, flag in _KEPT_FLAGS if present & seen)
        _mount(None, point, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | kept)
        if not os.statvfs(point).f_flag & os.ST_RDONLY:
            raise OSError(errno.EROFS, "it is still writable after the remount", point)


def _mounts_below(target: str) -> list[str]:
    """The mount at `target`, and every one below it."""
    lines = Path("/proc/self/mountinfo" if Path("/proc/self").exists() else f"{_OLD}/proc/self/mountinfo")
    fields = (line.split(" ")[4] for line in lines.read_text(errors="surrogateescape").splitlines())
    return [point for point in map(_unescaped, fields) if _is_below(point, target)]


def _is_below(point: str, target: str) -> bool:
    return point == target or point.startswith(f"{target.rstrip('/')}/")


def _unescaped(field: str) -> str:
    """The kernel writes blanks and the like as a backslash and three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    call("mount", *texts[:3], ctypes.c_ulong(flags), texts[3], about=f"mount {source or ''} {target}")


def call(name: str, *arguments: object, about: str = "") -> None:
    """Call a function of the C library that returns 0 where it succeeds.

    Raises:
        OSError: it does not; ``filename`` is `about`, or the function's name.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), about or name)
