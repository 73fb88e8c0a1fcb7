"""Files by digest, shared by all builds of a user. What has its final name is whole.

Layout: ``ROOT/sha256/ab/<64 digits>``, mode 0444. The access time of a file is its last use. Whoever collects
what is not needed is alone with the store: see `DirectoryStore.shared` and `DirectoryStore.alone`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from torchbuild.edges.atomic import sha256_of, temp_beside, translated
from torchbuild.errors import FetchError, UsageError
from torchbuild.model.artifact import is_sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DirectoryStore", "StoreEntry"]

_CHUNK = 1 << 20
_MODE = 0o444


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreEntry:
    """One file of the store, as `torchbuild store` lists it."""

    sha256: str
    """Its digest, which is its name."""
    size: int
    """Bytes."""
    last_used: float
    """When a build last asked for it, seconds since 1970."""


class DirectoryStore:
    """A store in one directory; any number of processes may use it at once."""

    def __init__(self, root: Path, *, paranoid: bool = False) -> None:
        """Nothing is read yet.

        Args:
            root: the directory.
            paranoid: read each file once before it is given out; a damaged one counts as missing, and what is
                added in its place replaces it.
        """
        self._root = root
        self._paranoid = paranoid
        self._whole: set[str] = set()
        """Digests of files that were read and are whole."""

    def root(self) -> Path:
        """The directory that is mounted read-only into a build."""
        return self._root

    def get(self, sha256: str) -> Path | None:
        """The file, or None. That it was used now is noted where the file system lets us.

        Raises:
            UsageError: ``digest-malformed``.
            HostError: as `verify`, where all is read.
        """
        place = self._place(sha256)
        if not _is_file(place) or (self._paranoid and not self.is_whole(sha256)):
            return None
        with contextlib.suppress(OSError):  # a store that may only be read still serves
            os.utime(place, ns=(time.time_ns(), place.lstat().st_mtime_ns))
        return place

    def add(self, source: Path, sha256: str) -> Path:
        """Take a copy in. On any failure the store is what it was before.

        Raises:
            FetchError: ``digest-mismatch``.
            HostError: ``disk-full``, ``not-writable``, ``file-missing``, ``file-operation-failed``.
            UsageError: ``digest-malformed``.
        """
        place = self._place(sha256)
        if self.get(sha256) is not None:
            _refuse_other(source, sha256_of(source), sha256)
            return place
        with translated(source), source.open("rb") as file, translated(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            temp = temp_beside(place)
            try:
                _refuse_other(source, _copy(file, source, temp), sha256)
                temp.replace(place)
            except BaseException:
                temp.unlink(missing_ok=True)
                raise
        return place

    def verify(self, sha256: str) -> bool:
        """Whether the file is there and its bytes still have the digest: all of it is read. That is no use.

        Raises:
            HostError: ``not-writable`` (no right to read it), ``file-operation-failed``.
            UsageError: ``digest-malformed``.
        """
        place = self._place(sha256)
        if not _is_file(place):
            return False
        before = place.lstat()
        is_whole = sha256_of(place) == sha256
        with contextlib.suppress(OSError):
            os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
        return is_whole

    def is_whole(self, sha256: str) -> bool:
        """As `verify`, but what was found whole is not read again.

        Raises:
            HostError, UsageError: as `verify`.
        """
        if sha256 not in self._whole and self.verify(sha256):
            self._whole.add(sha256)
        return sha256 in self._whole

    def entries(self) -> tuple[StoreEntry, ...]:
        """All that is in the store, by digest. What is not named by a digest is not in the store.

        Raises:
            HostError: ``not-writable`` (no right to read it), ``file-operation-failed``.
        """
        if not self._root.is_dir():
            return ()
        with translated(self._root):
            return tuple(sorted(self._scan(), key=lambda entry: entry.sha256))

    def _scan(self) -> Iterator[StoreEntry]:
        for path in self._root.glob("sha256/??/*"):
            if not is_sha256(path.name) or path.parent.name != path.name[:2]:
                continue
            with contextlib.suppress(FileNotFoundError):  # another process may remove meanwhile
                state = path.lstat()
                if stat.S_ISREG(state.st_mode):
                    yield StoreEntry(sha256=path.name, size=state.st_size, last_used=state.st_atime)

    def remove(self, sha256: str) -> int:
        """Remove the file.

        Returns:
            The bytes it had; 0 where it was not there.

        Raises:
            HostError: ``not-writable``, ``file-operation-failed``.
            UsageError: ``digest-malformed``.
        """
        place = self._place(sha256)
        with translated(place):
            try:
                size = place.lstat().st_size
                place.unlink()
            except FileNotFoundError:
                return 0
        return size

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Nothing is collected while the body runs; waits for the end of a collection that is at work.

        For what names files of the store before a lock does. A store that may only be read needs no promise.
        """
        with contextlib.ExitStack() as cleanup:
            with contextlib.suppress(OSError):
                self._root.parent.mkdir(parents=True, exist_ok=True)
                fcntl.flock(self._guard(cleanup), fcntl.LOCK_SH)
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """For whoever collects: whether nobody is in `shared` now; they wait until the body ends.

        Raises:
            HostError: ``not-writable``, ``file-operation-failed``.
        """
        is_alone = True
        with contextlib.ExitStack() as cleanup:
            if self._root.parent.is_dir():
                with translated(self._root):
                    handle = self._guard(cleanup)
                    try:
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        is_alone = False
            yield is_alone

    def _guard(self, cleanup: contextlib.ExitStack) -> int:
        """A file beside the store; the kernel gives the lock back when its holder dies, however it dies."""
        path = self._root.with_name(f"{self._root.name}.lock")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        cleanup.callback(os.close, handle)
        return handle

    def _place(self, sha256: str) -> Path:
        if not is_sha256(sha256):
            raise UsageError(
                "digest-malformed",
                f"{sha256!a} is not the name of a file of the store",
                why="wanted 64 lower-case hexadecimal digits",
                fix="Copy the digest from recipe.lock or from the list that torchbuild store prints.",
            )
        return self._root / "sha256" / sha256[:2] / sha256


def _is_file(place: Path) -> bool:
    try:
        return stat.S_ISREG(place.lstat().st_mode)
    except OSError:
        return False


def _copy(file: BinaryIO, source: Path, temp: Path) -> str:
    """Copy into `temp`, to the disk; the digest of what was copied."""
    digest = hashlib.sha256()
    with temp.open("xb") as copy:
        while chunk := _read(file, source):
            digest.update(chunk)
            copy.write(chunk)
        copy.flush()
        os.fchmod(copy.fileno(), _MODE)
        os.fsync(copy.fileno())
    return digest.hexdigest()


def _read(file: BinaryIO, source: Path) -> bytes:
    with translated(source):
        return file.read(_CHUNK)


def _refuse_other(source: Path, seen: str, wanted: str) -> None:
    if seen != wanted:
        raise FetchError(
            "digest-mismatch",
            f"{source}: these are not the bytes that were locked",
            why=(f"seen sha256 {seen}", f"wanted sha256 {wanted}"),
            fix="Find out who changed the file; if the change is meant, run torchbuild lock again.",
        )
