"""What a build sees at its fixed path, and where that lies on this machine; copies in and out."""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from torchbuild.edges.atomic import temp_beside, translated
from torchbuild.errors import HostError
from torchbuild.model.command import BUILD_ROOT, expand

__all__ = ["LeadsOutError", "Mounts"]

_TOP = PurePosixPath(BUILD_ROOT).name
_MOST_LINKS = 40
"""As many as the kernel follows."""


class LeadsOutError(Exception):
    """A path that is not inside the build; its text says where it leads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mounts:
    """The three directories that an executor mounts."""

    root: Path
    """The workspace's root, writable, at the fixed path."""
    store: Path
    """Locked inputs, read-only."""
    cache: Path
    """Compiler caches and the like, writable; outlives the build."""

    def prepare(self) -> None:
        """Make the directories, and in the root the two places where the others are mounted.

        Raises:
            HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        for path in (self.root, self.store, self.cache, self.root / "store", self.root / "cache"):
            with translated(path):
                path.mkdir(parents=True, exist_ok=True)

    def outside(self, path: str) -> Path:
        """Where a path of the build lies on this machine, links resolved as the build sees them.

        Args:
            path: absolute inside the build, or with a placeholder; it need not exist.

        Raises:
            HostError: ``path-outside-mounts`` where it, or a link on the way, leads elsewhere.
        """
        try:
            return self.place(self.below(path, follow_last=True))
        except LeadsOutError as error:
            raise HostError(
                "path-outside-mounts",
                f"{path}: not inside the build",
                why=(f"seen: {error}", f"wanted: a place below {BUILD_ROOT}"),
                fix=f"Name a path below {BUILD_ROOT}; look at the links on the way where it already is one.",
            ) from error

    def below(self, path: str, *, follow_last: bool) -> tuple[str, ...]:
        """The parts of a path below the fixed one, links followed as the build would follow them.

        Args:
            path: absolute inside the build, or with a placeholder; it need not exist.
            follow_last: whether a link that the path itself is, is followed.

        Raises:
            LeadsOutError: it leads elsewhere, with how.
            HostError: ``file-operation-failed``, ``not-writable`` (no right to look there).
        """
        pending = deque(_parts(expand(path)))
        here: list[str] = []
        links = 0
        while pending:
            part = pending.popleft()
            here = [] if part == "/" else here[:-1] if part == ".." else [*here, part]
            if here and here[0] != _TOP:
                raise LeadsOutError(f"it leads to /{'/'.join(here)}")
            place = self.place(tuple(here[1:]))
            if len(here) < 2 or not (pending or follow_last):  # noqa: PLR2004  the top is no link
                continue
            with translated(place):
                if place.is_symlink():
                    links += 1
                    here = here[:-1]
                    pending.extendleft(reversed(_parts(os.fspath(place.readlink()))))
            if links > _MOST_LINKS:
                raise LeadsOutError(f"more than {_MOST_LINKS} links follow each other")
        if not here:
            raise LeadsOutError("it leads to /")
        return tuple(here[1:])

    def place(self, parts: tuple[str, ...]) -> Path:
        """Where parts below the fixed path lie on this machine; no link is looked at."""
        for name, place in (("store", self.store), ("cache", self.cache)):
            if parts[:1] == (name,):
                return place.joinpath(*parts[1:])
        return self.root.joinpath(*parts)

    def put(self, source: Path, destination: str) -> None:
        """Copy a file or a directory into the build; see `copy_over`.

        Raises:
            HostError: ``store-is-read-only``, ``path-outside-mounts``, ``file-missing``,
                ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        target = self.outside(destination)
        if target.is_relative_to(self.store):
            raise HostError(
                "store-is-read-only",
                f"{destination}: the store is read-only inside a build",
                why=(f"seen: a copy of {source} into the store", "wanted: any other place of the build"),
                fix="Name a place outside {store}; inputs enter the store by digest when they are fetched.",
            )
        copy_over(source, target)

    def get(self, source: str, destination: Path) -> None:
        """Copy a file or a directory out of the build; see `copy_over`.

        Raises:
            HostError: ``path-outside-mounts``, ``file-missing``, ``not-writable``, ``disk-full``,
                ``file-operation-failed``.
        """
        copy_over(self.outside(source), destination)


def copy_over(source: Path, destination: Path, *, without: Collection[str] = ()) -> None:
    """Copy a file, or a directory into what is there already; times, permissions and links are kept.

    Each file arrives whole or not at all, and belongs to the caller. Owner, set-user-id bits and extended
    attributes stay behind: a build may not hand them to the machine. A link that `source` itself is, is
    followed; links below it are copied as links. Names in `without` stay behind, wherever they stand.
    """
    with translated(source):
        source = source.resolve(strict=True)
    with translated(destination):
        destination.parent.mkdir(parents=True, exist_ok=True)
        _copy(source, destination, without)


def _copy(source: Path, destination: Path, without: Collection[str]) -> None:
    if source.is_symlink():
        temp = temp_beside(destination)
        temp.symlink_to(source.readlink())
        temp.replace(destination)
    elif source.is_dir():
        if destination.is_symlink():
            # A build may have laid a link there that leads out of it: never copy through one.
            destination.unlink()
        destination.mkdir(exist_ok=True)
        for entry in sorted(source.iterdir()):
            if entry.name not in without:
                _copy(entry, destination / entry.name, without)
        _keep_attributes(source, destination)
    else:
        _copy_file(source, destination)


def _copy_file(source: Path, destination: Path) -> None:
    temp = temp_beside(destination)
    try:
        shutil.copyfile(source, temp)
        _keep_attributes(source, temp)
        temp.replace(destination)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise


def _keep_attributes(source: Path, destination: Path) -> None:
    status = source.stat()
    destination.chmod(status.st_mode & 0o777)
    os.utime(destination, ns=(status.st_atime_ns, status.st_mtime_ns))


def _parts(path: str) -> list[str]:
    """The path's parts, a slash first where it is absolute."""
    named = [part for part in path.split("/") if part not in ("", ".")]
    return ["/", *named] if path.startswith("/") else named
