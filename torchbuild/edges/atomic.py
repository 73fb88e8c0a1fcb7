"""Writing so that nothing half-written counts: temp file in the same directory, fsync, rename.

Also the one translation of operating-system errors into ours, the digest of a file, and the removal of
trees that somebody made read-only.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import socket
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "TEMP_PREFIX",
    "leftovers",
    "remove_tree",
    "replace_directory",
    "sha256_of",
    "temp_beside",
    "translated",
    "workroom",
    "write_bytes",
    "write_text",
]

TEMP_PREFIX = ".torchbuild-tmp-"
"""How every temporary file and directory of ours begins, so that what a killed run left can be found."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_MISSING = {errno.ENOENT, errno.ENOTDIR}


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn an OSError of the body into a HostError that names `path` and says who must act.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-missing`` or ``file-operation-failed``.
    """
    try:
        yield
    except OSError as error:
        _raise_host_error(error, path)


def _raise_host_error(error: OSError, path: Path) -> NoReturn:
    why = f"seen: {error.strerror or error}"
    if error.errno in _FULL:
        raise HostError(
            "disk-full",
            f"{path}: no space is left to write it",
            why=(why, *_space(path)),
            fix=f"Free space on the file system that holds {path.parent}, then run the same command again.",
        ) from error
    if error.errno in _FORBIDDEN:
        raise HostError(
            "not-writable",
            f"{path}: this user may not do that",
            why=(why, f"wanted: a place where user id {os.geteuid()} may read and write"),
            fix=f"Give this user the rights on {path.parent}, or name another directory.",
        ) from error
    if error.errno in _MISSING:
        raise HostError(
            "file-missing",
            f"{path}: not there",
            why=(why, "wanted: an existing file or directory"),
            fix="Run the same command again; look for what removes files there if it comes back.",
        ) from error
    raise HostError(
        "file-operation-failed",
        f"{path}: the operating system refused",
        why=(why, f"error number: {error.errno}"),
        fix=f"Check the file system that holds {path.parent}, then run the same command again.",
    ) from error


def _space(path: Path) -> tuple[str, ...]:
    """What is left on the file system of `path`; nothing where that cannot be read."""
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(next(place for place in path.parents if place.exists())).free
        return (f"free there now: {free} bytes",)
    return ()


def temp_beside(path: Path) -> Path:
    """A name that is free, in the directory of `path`; nothing is made there yet."""
    return path.parent / f"{TEMP_PREFIX}{_machine()}-{os.getpid()}-{secrets.token_hex(6)}"


def write_text(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write `text` as UTF-8; see `write_bytes`."""
    write_bytes(path, text.encode(), mode=mode)


def write_bytes(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write all of `data`, or leave what was there before. Directories above are made.

    Args:
        path: the file; readers see the old bytes or the new ones, never a part.
        data: its content.
        mode: its permissions, whatever the umask.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    temp = temp_beside(path)
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _check_replaceable(path)
        try:
            with temp.open("xb") as file:
                os.fchmod(file.fileno(), mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temp.replace(path)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        _sync_directory(path.parent)


def _check_replaceable(path: Path) -> None:
    """A rename would put a file in the place of a device or a pipe, and of root's /dev/null for everybody."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EEXIST, "a device, a pipe or a socket is there, which no file may replace")


def _sync_directory(directory: Path) -> None:
    """Make a rename outlive a power cut, where the file system knows how."""
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def replace_directory(temp: Path, final: Path) -> None:
    """Give the finished directory `temp` its name `final`; what was there before is removed.

    Both lie on one file system. Killed between the two renames, `final` is not there at all: it is never
    a mixture, and what was moved aside is found by `leftovers`.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-missing``, ``file-operation-failed``.
    """
    with translated(final):
        final.parent.mkdir(parents=True, exist_ok=True)
        old = temp_beside(final)
        with contextlib.suppress(FileNotFoundError):
            final.rename(old)
        try:
            temp.rename(final)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                old.rename(final)
            raise
        _sync_directory(final.parent)
    remove_tree(old)


def sha256_of(path: Path) -> str:
    """The SHA-256 of the file's bytes, 64 lower-case hexadecimal digits.

    Raises:
        HostError: ``file-missing``, ``not-writable`` (no rights), ``file-operation-failed``.
    """
    with translated(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_tree(path: Path) -> None:
    """Remove a file, a link or a tree, also one without write permission. Links are never followed.

    What is not there is removed already.

    Raises:
        HostError: ``not-writable``, ``file-operation-failed``.
    """
    with translated(path):
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
            return
        try:
            shutil.rmtree(path)
        except (PermissionError, RecursionError):
            _remove_by_hand(path)


def _remove_by_hand(top: Path) -> None:
    """Remove what the standard library cannot: read-only directories, trees deeper than Python's stack."""
    todo, directories = [top], []
    while todo:
        directory = todo.pop()
        directories.append(directory)
        directory.chmod(stat.S_IRWXU)
        with os.scandir(directory) as scan:
            found = [(Path(item.path), item.is_dir(follow_symlinks=False)) for item in scan]
        todo += [path for path, is_directory in found if is_directory]
        for path in (path for path, is_directory in found if not is_directory):
            path.unlink(missing_ok=True)
    for directory in reversed(directories):
        directory.rmdir()


def leftovers(directory: Path, *, older_than_s: float = 86400.0) -> tuple[Path, ...]:
    """What killed runs left directly in `directory`: our temporary names, whose process is gone.

    Where another machine made the name, only its age can tell.

    Args:
        directory: where to look; one that is not there holds nothing.
        older_than_s: seconds without a change after which a name counts, whoever made it.

    Raises:
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    if not directory.is_dir():
        return ()
    before = time.time() - older_than_s
    with translated(directory):
        ours = [path for path in directory.iterdir() if path.name.startswith(TEMP_PREFIX)]
        return tuple(path for path in sorted(ours) if _is_left(path, before))


@contextlib.contextmanager
def workroom(folder: Path, name: str) -> Iterator[Path]:
    """An empty directory in `folder` that does not outlive the body; what killed runs left there goes first.

    Args:
        folder: made where it is not there.
        name: for whoever looks.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    for left in leftovers(folder):
        remove_tree(left)
    room = temp_beside(folder / name)
    with translated(room):
        room.mkdir(parents=True)
    try:
        yield room
    finally:
        remove_tree(room)


def _is_left(path: Path, before: float) -> bool:
    machine, _, rest = path.name.removeprefix(TEMP_PREFIX).partition("-")
    pid = rest.partition("-")[0]
    if machine == _machine() and pid.isdecimal() and not Path("/proc", pid).exists():
        return True
    try:
        return path.lstat().st_mtime < before
    except FileNotFoundError:  # its process has just finished
        return False


def _machine() -> str:
    """A short word for this machine: a process id says nothing on another one."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
