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
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["build_root", "call"]

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MS_NOATIME, _MS_NODIRATIME, _MS_RELATIME = 1024, 2048, 1 << 21
_MNT_DETACH = 2

# A remount that drops one of these is refused in a user namespace.
_KEPT_FLAGS = {
    "nosuid": _MS_NOSUID,
    "nodev": _MS_NODEV,
    "noexec": _MS_NOEXEC,
    "noatime": _MS_NOATIME,
    "nodiratime": _MS_NODIRATIME,
    "relatime": _MS_RELATIME,
}
_STAGING = "/tmp"  # noqa: S108  only a mount point, covered by a tmpfs of our own before anything is written
_SCRATCH = ("/tmp", "/var/tmp")  # noqa: S108  the process's own: a directory that is made for it alone
_OLD = "/.old"
_OUT_OF_REACH = (errno.EACCES, errno.ESTALE, errno.ENOTCONN)
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.EINVAL)

_DEVICES = ("full", "null", "random", "tty", "urandom", "zero")
_GPU_DEVICES = ("dri", "dxg", "kfd", "nvidia*")
_DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
_RESOLVER = "/etc/resolv.conf"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
_MADE = frozenset({"dev", "proc", "run", "sys", "tmp", _OLD[1:]})
"""Whose entries these would be, they are made anew."""
_KERNEL_SETTINGS = ("bus", "fs", "irq", "sys", "sysrq-trigger")
"""Below /proc: what a root may write there is meant for the whole machine."""


def build_root(
    binds: Sequence[tuple[bool, str, str]], *, image: str | None, scratch: str | None, network: bool
) -> None:
    """Make the root, and move into it.

    Args:
        binds: what is shown beside the entries: whether it is read-only, where it is, where it is shown.
        image: an unpacked image, whose entries are shown; None for this machine's own. Both read-only.
        scratch: a directory that is ``/tmp`` and ``/var/tmp``; None for ones in memory.
        network: whether the process has the machine's network, and thus needs its resolver.

    Raises:
        OSError: the kernel refuses; ``filename`` tells the step.
    """
    resolver = os.path.realpath(_RESOLVER) if network else None
    entries = _OLD + (os.path.realpath(image) if image else "")
    scratch = os.path.realpath(scratch) if scratch else None
    resolved = [(read_only, os.path.realpath(source), target) for read_only, source, target in binds]
    _pivot()
    beside = _MADE | {target.split("/")[1] for _, _, target in resolved}
    _adopt_all(entries, beside | {"etc"} if image else beside)
    if image:
        _make_etc(f"{entries}/etc", resolver)
    _freeze(mount for mount in _mounts_below("/") if mount.point != "/" and not _is_below(mount.point, _OLD))
    _make_dev(of_machine=not image)
    _mount_proc()
    _mount_sys()
    _make_run(None if image else resolver)
    _show_scratch(scratch)
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
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).touch()
    _mount(source, target, None, _MS_BIND | _MS_REC)


def _mount_proc() -> None:
    Path("/proc").mkdir()
    try:
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    except PermissionError:
        # Inside a container that masks parts of its /proc the kernel gives no unmasked one.
        _mount(f"{_OLD}/proc", "/proc", None, _MS_BIND | _MS_REC)
    for name in _KERNEL_SETTINGS:
        if Path("/proc", name).exists():
            _mount(f"/proc/{name}", f"/proc/{name}", None, _MS_BIND | _MS_REC)
            _freeze(_mounts_below(f"/proc/{name}"))


def _make_run(resolver: str | None) -> None:
    """An empty /run: the machine's has sockets of its services, an engine's among them."""
    _fresh("/run")
    with contextlib.suppress(OSError):
        if not Path("/var/run").is_symlink() and Path("/var/run").is_dir():
            _mount("tmpfs", "/var/run", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755")
    if resolver and resolver.startswith("/run/"):
        Path(resolver).parent.mkdir(parents=True)
        _bind_into(_OLD + resolver, resolver)


def _show_scratch(scratch: str | None) -> None:
    """The process's own directory for temporary files, where the root has such a place."""
    Path(_SCRATCH[0]).mkdir()
    for place in _SCRATCH:
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


def _make_dev(*, of_machine: bool) -> None:
    """The devices that every program expects, on the machine's own files its GPUs too, and no others."""
    if of_machine and os.geteuid() != 0:
        return _adopt_dev()
    _fresh("/dev")
    for name in _DEVICES:
        _bind_into(f"{_OLD}/dev/{name}", f"/dev/{name}")
    for pattern in _GPU_DEVICES if of_machine else ():
        for device in Path(_OLD, "dev").glob(pattern):
            _bind_into(str(device), f"/dev/{device.name}")
    for name, target in _DEVICE_LINKS.items():
        Path("/dev", name).symlink_to(target)
    _fresh("/dev/shm", mode="1777")  # noqa: S108  a tmpfs of our own
    Path("/dev/pts").mkdir()
    _mount("devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
    return None


def _adopt_dev() -> None:
    """The machine's: the kernel gives terminals of their own only where there is a root.

    Of its devices a user can open those that are theirs anyway.
    """
    _bind_into(f"{_OLD}/dev", "/dev")
    _freeze(_mounts_below("/dev"))
    shared = Path("/dev/shm")  # noqa: S108  covered by a tmpfs of our own
    if shared.is_dir() and not shared.is_symlink():
        _mount("tmpfs", str(shared), "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")


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


class _Mount(NamedTuple):
    """One of the kernel's list."""

    point: str
    options: frozenset[str]
    is_hidden: bool
    """Covered by another one on a directory above: no path leads there."""


def _freeze(mounts: Iterable[_Mount]) -> None:
    """Remount each read-only; a bind alone ignores that flag.

    Who removes a mount's directory elsewhere removes the mount from here as well: a container's, for one.
    """
    points, gone = set(), {}
    for mount in mounts:
        if mount.is_hidden or mount.point in points:
            continue
        kept = sum(flag for name, flag in _KEPT_FLAGS.items() if name in mount.options)
        try:
            _mount(None, mount.point, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | kept)
            points.add(mount.point)
        except OSError as error:
            # In a closed directory, or of a dead server: who cannot get there cannot write there.
            if error.errno in _GONE:
                gone[mount.point] = error
            elif error.errno not in _OUT_OF_REACH:
                raise
    for mount in _mounts_below("/"):
        if mount.point in gone and not mount.is_hidden:
            raise gone[mount.point]
        if mount.point in points and "ro" not in mount.options:
            raise OSError(errno.EROFS, "it is still writable after the remount", mount.point)


def _mounts_below(target: str) -> list[_Mount]:
    """The mount at `target`, and every one below it; where several are at one place, the one that is seen."""
    path = Path("/proc/self/mountinfo" if Path("/proc/self").exists() else f"{_OLD}/proc/self/mountinfo")
    last: dict[str, tuple[int, frozenset[str]]] = {}
    for number, line in enumerate(path.read_text(errors="surrogateescape").splitlines()):
        fields = line.split(" ")
        last[_unescaped(fields[4])] = number, frozenset(fields[5].split(","))
    return [
        _Mount(point, options, is_hidden=_is_covered(point, number, last))
        for point, (number, options) in last.items()
        if _is_below(point, target)
    ]


def _is_covered(point: str, number: int, last: dict[str, tuple[int, frozenset[str]]]) -> bool:
    """Whether something was mounted later on a directory above: the kernel lists mounts in that order."""
    above = {str(path) for path in Path(point).parents}
    return any(last[path][0] > number for path in above & last.keys())


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
