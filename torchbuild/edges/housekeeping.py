"""What our directories take on this machine, and its removal. What a build holds is left alone.

Sizes are what would be free afterwards: blocks, each file once however many names it has.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import TEMP_PREFIX, leftovers, remove_tree, temp_beside, translated
from torchbuild.edges.live_locks import registered
from torchbuild.edges.workspace import about, held, refuse_busy
from torchbuild.errors import HostError
from torchbuild.model.artifact import is_sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from torchbuild.edges.store import DirectoryStore, StoreEntry

__all__ = [
    "Cleaned",
    "Removed",
    "Sizes",
    "Skipped",
    "WorkspaceUse",
    "clean",
    "foreign_entries",
    "last_run",
    "remove_image",
    "remove_noted",
    "sizes",
    "tree_bytes",
    "unpacked_images",
    "workspaces",
]

_BLOCK = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceUse:
    """One workspace, as a list shows it."""

    run: str
    """Its name."""
    recipe: str
    """The recipe's name; empty where nobody noted it."""
    path: Path
    """Where it is."""
    size: int
    """Bytes on the disk."""
    last_used: float
    """When it was opened last, seconds since 1970."""
    is_busy: bool
    """Whether a build holds it now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """What there is."""

    workspaces: tuple[WorkspaceUse, ...]
    """By name."""
    store: tuple[StoreEntry, ...]
    """By digest."""
    caches: tuple[tuple[Path, int], ...]
    """Each cache directory with its bytes on the disk."""
    images: tuple[tuple[Path, int], ...] = ()
    """Each unpacked image with its bytes on the disk."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Removed:
    """One thing that is gone."""

    path: Path
    """Where it was."""
    size: int
    """Bytes that it had on the disk."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """One thing that is still there."""

    path: Path
    """Where it is."""
    why: str
    """The reason, one line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleaned:
    """What was removed and what was not."""

    removed: tuple[Removed, ...]
    """Gone, in the order of the removal."""
    skipped: tuple[Skipped, ...]
    """Still there, each with the reason."""

    @property
    def size(self) -> int:
        """Bytes that were removed, together."""
        return sum(item.size for item in self.removed)


def sizes(
    builds: Path, store: DirectoryStore, caches: Iterable[Path] = (), *, roots: Path | None = None
) -> Sizes:
    """Measure all that we keep on this machine.

    Args:
        builds: the directory of all workspaces.
        store: the store.
        caches: further directories, such as the compiler cache and the bare repositories.
        roots: the directory of unpacked images.

    Raises:
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    return Sizes(
        workspaces=workspaces(builds),
        store=store.entries(),
        caches=tuple((cache, tree_bytes(cache)) for cache in caches),
        images=tuple((path, tree_bytes(path)) for path in unpacked_images(roots)) if roots else (),
    )


def unpacked_images(roots: Path) -> tuple[Path, ...]:
    """The images that we unpacked below `roots`; the files that somebody brought there are theirs.

    Raises:
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    if not roots.is_dir():
        return ()
    with translated(roots):
        found = (path for path in roots.iterdir() if is_sha256(path.name))
        return tuple(sorted(path for path in found if path.is_dir() and not path.is_symlink()))


def workspaces(builds: Path) -> tuple[WorkspaceUse, ...]:
    """Every workspace below `builds`, by name.

    Raises:
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    return tuple(_use(path) for path in _workspace_paths(builds))


def last_run(builds: Path, recipe: str) -> Path | None:
    """The workspace of this recipe's name that was opened last; None where there is none.

    Raises:
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    ours = [path for path in _workspace_paths(builds) if about(path).get("recipe") == recipe]
    return max(ours, key=_last_used, default=None)


def _workspace_paths(builds: Path) -> tuple[Path, ...]:
    """Only what `open_workspace` made: a directory with its note in it."""
    if not builds.is_dir():
        return ()
    with translated(builds):
        return tuple(
            sorted(
                path
                for path in builds.iterdir()
                if not path.name.startswith(TEMP_PREFIX)
                and not path.is_symlink()
                and (path / "about.json").is_file()
            )
        )


def _use(path: Path) -> WorkspaceUse:
    return WorkspaceUse(
        run=path.name,
        recipe=str(about(path).get("recipe", "")),
        path=path,
        size=tree_bytes(path),
        last_used=_last_used(path),
        is_busy=_is_busy(path),
    )


def _last_used(path: Path) -> float:
    with contextlib.suppress(OSError):
        return (path / "about.json").stat().st_mtime
    return 0.0


def _is_busy(path: Path) -> bool:
    """A lock that this user may not even try is somebody else's, and may be held."""
    try:
        with held(path) as is_ours:
            return not is_ours
    except HostError:
        return True


def foreign_entries(cache: Path, names: Collection[str]) -> tuple[str, ...]:
    """What lies in a cache folder and is not one of `names`, nor something half-made of ours; sorted.

    Raises:
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    if not cache.is_dir():
        return ()
    with translated(cache):
        found = (path.name for path in cache.iterdir())
        return tuple(sorted(name for name in found if name not in names and not name.startswith(TEMP_PREFIX)))


def clean(
    builds: Path,
    *,
    runs: Collection[str] | None = None,
    store: DirectoryStore | None = None,
    caches: Iterable[Path] = (),
    roots: Path | None = None,
    live: Path | None = None,
) -> Cleaned:
    """Remove what is asked for, but nothing that a build holds. Links are removed, never followed.

    A workspace loses its name first, so that a removal that is killed leaves no half of one. While any
    build runs, the store and the caches stay: it may be reading them. What killed runs left goes too.

    Args:
        builds: the directory of all workspaces.
        runs: the workspaces to remove; None means all, an empty collection none.
        store: the store to empty; None leaves it alone.
        caches: directories to remove whole; one that is not there is not mentioned.
        roots: the directory whose unpacked images are removed; None leaves them alone.
        live: where workspaces of other builds folders are registered: what one of them holds stays too.

    Returns:
        What is gone, and what is not and why: a thing that cannot be removed does not stop the others.

    Raises:
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    chosen = [builds / run for run in runs] if runs is not None else list(_workspace_paths(builds))
    outcomes = [_attempt(path, partial(_remove_workspace, path, builds)) for path in chosen]
    outcomes += [_attempt(path, partial(_remove_whole, path)) for path in leftovers(builds)]
    shared = _shared(store, caches, roots)
    with contextlib.ExitStack() as stack:
        busy = bool(shared) and (any(map(_is_busy, _workspace_paths(builds))) or _is_busy_elsewhere(live))
        alone = store is None or stack.enter_context(store.alone())
        outcomes += [
            Skipped(path=path, why="a build runs and may read it")
            if busy or not alone
            else _attempt(path, remove)
            for path, remove in shared
        ]
    return Cleaned(
        removed=tuple(item for item in outcomes if isinstance(item, Removed)),
        skipped=tuple(item for item in outcomes if isinstance(item, Skipped)),
    )


def _shared(
    store: DirectoryStore | None, caches: Iterable[Path], roots: Path | None
) -> list[tuple[Path, Callable[[], int]]]:
    """What several builds may read, each with what removes it."""
    found: list[tuple[Path, Callable[[], int]]] = [
        (path, partial(_remove_whole, path)) for path in caches if os.path.lexists(path)
    ]
    if store is not None:
        found += _stored(store)
    if roots is not None:
        found += [(path, partial(remove_image, path)) for path in unpacked_images(roots)]
        found += [(path, partial(_remove_whole, path)) for path in leftovers(roots)]
    return found


def _is_busy_elsewhere(live: Path | None) -> bool:
    """Whether a build of another builds folder may run: one that cannot be looked at, for a day."""
    entries = () if live is None else registered(live)
    return any(
        _is_busy(item.workspace) if item.workspace and item.is_seen else item.is_recent
        for item in entries
        if not item.is_gone
    )


def _attempt(path: Path, remove: Callable[[], int]) -> Removed | Skipped:
    try:
        return Removed(path=path, size=remove())
    except HostError as error:
        return Skipped(path=path, why=error.what)


def _remove_workspace(path: Path, builds: Path) -> int:
    if path not in _workspace_paths(builds):
        raise HostError(
            "workspace-missing",
            f"{path}: no workspace",
            why="wanted: a directory that a build made",
            fix="List the workspaces with torchbuild store, then name one of them.",
        )
    with held(path) as is_ours:
        if not is_ours:
            refuse_busy(path)
        gone = temp_beside(path)
        with translated(path):
            path.rename(gone)
    return _remove_whole(gone)


def remove_image(path: Path) -> int:
    """Remove an unpacked image, and the lock that earlier versions left beside it; as `remove_noted`."""
    with translated(path):
        path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
    return remove_noted(path)


def remove_noted(path: Path) -> int:
    """Remove what may have a note beside it; nobody else may use it meanwhile.

    The note goes first. Killed then, the rest is still whole and is found by its own name, here too; a note
    that stays alone would be collected by nobody, and would speak of what comes to this place later.
    Then under another name: what has its name is whole.

    Returns:
        Bytes that it had on the disk; 0 where it was not there.

    Raises:
        HostError: ``not-writable``, ``file-operation-failed``.
    """
    gone = temp_beside(path)
    with translated(path):
        path.with_name(f"{path.name}.json").unlink(missing_ok=True)
        try:
            path.rename(gone)
        except FileNotFoundError:
            return 0
    return _remove_whole(gone)


def _remove_whole(path: Path) -> int:
    size = tree_bytes(path)
    remove_tree(path)
    return size


def _stored(store: DirectoryStore) -> list[tuple[Path, Callable[[], int]]]:
    root = store.root() / "sha256"
    left = [path for shard in sorted(root.glob("??")) for path in leftovers(shard)]
    return [
        *((path, partial(_remove_whole, path)) for path in left),
        *(
            (root / entry.sha256[:2] / entry.sha256, partial(store.remove, entry.sha256))
            for entry in store.entries()
        ),
    ]


def tree_bytes(path: Path) -> int:
    """Bytes that a file or a tree takes on the disk. Links are not followed; what vanishes meanwhile is 0."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for state in _states(path):
        if (state.st_dev, state.st_ino) not in seen:
            seen.add((state.st_dev, state.st_ino))
            total += state.st_blocks * _BLOCK
    return total


def _states(top: Path) -> Iterator[os.stat_result]:
    todo = [os.fspath(top)]
    while todo:
        with contextlib.suppress(OSError):  # removed meanwhile, or not ours to look at
            state = os.lstat(path := todo.pop())
            yield state
            if stat.S_ISDIR(state.st_mode):
                with os.scandir(path) as scan:
                    todo += [item.path for item in scan]
