"""What was fetched and is not needed, by last use: stored files, repositories, images, half downloads.

What a live lock names is never removed, whatever its age, whatever the limit: a lock in this builds folder,
or one that a workspace of another registered in the cache. See `torchbuild.edges.live_locks`.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from torchbuild.edges.atomic import leftovers, remove_tree, translated
from torchbuild.edges.housekeeping import Removed, Skipped, remove_image, remove_noted, tree_bytes
from torchbuild.edges.live_locks import Named, Registered, forget, names_of, registered
from torchbuild.errors import HostError, UsageError
from torchbuild.model.artifact import is_sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from torchbuild.edges.store import DirectoryStore

__all__ = ["Collected", "Places", "Thing", "collect"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """Where things lie."""

    store: DirectoryStore
    """Files by digest."""
    repositories: Path
    """Bare repositories."""
    parts: Path
    """Parts of downloads, by the digest of the whole."""
    roots: Path
    """Unpacked images, by their ids."""
    builds: Path
    """Workspaces; the lock in each is live."""
    live: Path
    """What workspaces of any builds folder registered in the cache."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """One thing that could be fetched again."""

    kind: Literal["file", "repository", "part", "root"]
    """What it is."""
    path: Path
    """Where it lies."""
    size: int
    """Bytes on the disk."""
    last_used: float
    """Seconds since 1970."""
    is_live: bool
    """Whether a live lock names it."""
    remove: Callable[[], object]
    """Takes it away; HostError where that cannot be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """What is gone, and what is not and why."""

    removed: tuple[Removed, ...]
    """Gone, least recently used first; in a dry run, what would be."""
    kept: tuple[Skipped, ...]
    """Still there, each with the reason."""
    size: int
    """Bytes that all of it took before."""

    @property
    def freed(self) -> int:
        """Bytes that are gone."""
        return sum(item.size for item in self.removed)

    @property
    def left(self) -> int:
        """Bytes that are still taken."""
        return self.size - self.freed


def collect(
    places: Places,
    *,
    most: int | None = None,
    keep_locks: Collection[Path] = (),
    dry_run: bool = False,
) -> Collected:
    """Remove what no live lock names: all of it, or what was used least recently until `most` is kept.

    Builds may run: what their locks name stays, and they wait for the moment that it takes before they name
    more. While a lock is in the making nothing is removed.

    Args:
        places: where things lie.
        most: bytes that may stay; None: only what live locks name stays.
        keep_locks: further live locks, besides those of all workspaces.
        dry_run: only say what would be removed.

    Raises:
        UsageError: ``keep-lock-missing``.
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    with ExitStack() as stack:
        alone = dry_run or stack.enter_context(places.store.alone())
        entries = registered(places.live)
        live = _live([*_workspace_locks(places.builds), *map(_existing, keep_locks)], entries)
        things = sorted(_things(places, live), key=lambda item: (item.last_used, item.path))
        size = sum(item.size for item in things)
        if not alone:
            why = "a lock is in the making, or another collection is at work"
            kept = tuple(Skipped(path=item.path, why=why) for item in things)
            return Collected(removed=(), kept=kept, size=size)
        if not dry_run:
            forget(entries)
        return _removed_in_order(things, size, most, dry_run=dry_run)


def _removed_in_order(things: list[Thing], size: int, most: int | None, *, dry_run: bool) -> Collected:
    removed: list[Removed] = []
    kept: list[Skipped] = []
    left = size
    for item in things:
        why = "a live lock names it" if item.is_live else ""
        if not why and most is not None and left <= most:
            why = "the limit is kept with it"
        if not why and not dry_run:
            why = _failure(item)
        if why:
            kept.append(Skipped(path=item.path, why=why))
        else:
            left -= item.size
            removed.append(Removed(path=item.path, size=item.size))
    return Collected(removed=tuple(removed), kept=tuple(kept), size=size)


def _failure(item: Thing) -> str:
    """Remove it; why it is still there, or nothing."""
    try:
        item.remove()
    except HostError as error:
        return error.what
    return ""


def _workspace_locks(builds: Path) -> list[Path]:
    """One a workspace; a workspace that has none yet has not looked into the store yet either."""
    return sorted(builds.glob("*/lock.toml"))


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(
            "keep-lock-missing",
            f"{path}: no such lock",
            why="wanted a lock whose files are to stay in the store",
            fix="Correct the path after --keep-lock.",
        )
    return path


def _live(locks: Iterable[Path], entries: Iterable[Registered]) -> Named:
    """All that the locks and the entries of other builds folders name."""
    live = Named()
    for item in entries:
        live |= Named() if item.is_gone else item.named
    for path in locks:
        with translated(path):
            try:
                content = path.read_bytes()
            except FileNotFoundError:  # its workspace has just been removed
                continue
        live |= names_of(content)
    return live


def _things(places: Places, live: Named) -> Iterator[Thing]:
    root = places.store.root() / "sha256"
    for entry in places.store.entries():
        yield Thing(
            kind="file",
            path=root / entry.sha256[:2] / entry.sha256,
            size=entry.size,
            last_used=entry.last_used,
            is_live=entry.sha256 in live.digests,
            remove=partial(places.store.remove, entry.sha256),
        )
    for path in (
        left for place in (*root.glob("??"), places.repositories, places.roots) for left in leftovers(place)
    ):
        yield _leftover(path)
    for path in _below(places.repositories):
        if path.suffix == ".git" and path.is_dir():
            yield _noted("repository", path, _remove_guarded, is_live=path.name in live.repositories)
    for path in _below(places.parts):
        if is_sha256(path.name):
            yield _noted("part", path, _remove_guarded, is_live=path.name in live.digests)
    for path in _below(places.roots):
        if is_sha256(path.name) and path.is_dir():
            yield _noted("root", path, remove_image, is_live=path.name in live.digests)


def _below(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    with translated(folder):
        return sorted(path for path in folder.iterdir() if not path.is_symlink())


def _noted(
    kind: Literal["repository", "part", "root"],
    path: Path,
    remove: Callable[[Path], object],
    *,
    is_live: bool,
) -> Thing:
    """Whoever uses it last touches it, or the note beside it."""
    note = path.with_name(f"{path.name}.json")
    try:
        last_used = max(place.lstat().st_mtime for place in (path, note) if os.path.lexists(place))
    except (OSError, ValueError):  # gone meanwhile
        last_used = 0.0
    return Thing(
        kind=kind,
        path=path,
        size=tree_bytes(path),
        last_used=last_used,
        is_live=is_live,
        remove=partial(remove, path),
    )


def _leftover(path: Path) -> Thing:
    """What a killed process left under a temporary name is the first to go."""
    size, remove = tree_bytes(path), partial(remove_tree, path)
    return Thing(kind="part", path=path, size=size, last_used=0.0, is_live=False, remove=remove)


def _remove_guarded(path: Path) -> None:
    """Under the lock file beside it, which whoever fetches into it holds."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  slow to import

    with translated(path):
        try:
            with FileLock(f"{path}.lock", timeout=0):
                remove_noted(path)
        except Timeout as error:
            raise HostError(
                "fetch-running",
                f"{path}: another process fetches it now",
                why="seen: its lock is held",
                fix="Run `torchbuild store gc` again when that process has ended.",
            ) from error
