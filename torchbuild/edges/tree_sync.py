"""A kept tree brought up to a new one; what did not change is not touched, so that ninja sees what did.

People edit in a kept tree. An edit stays, unless the new tree has another content for the same file: then the
edited file is set aside, and said. git's index is no such work: a mere ``git status`` writes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from torchbuild.edges.atomic import remove_tree, sha256_of, translated

__all__ = ["Synced", "bring_up", "states_of"]


_LOOKED_AT = ".git/index"


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """Which working files were touched in the kept tree."""

    changed: tuple[str, ...]
    """Paths that are new or other than before, sorted."""
    removed: tuple[str, ...]
    """Paths that are gone, sorted."""
    set_aside: tuple[str, ...]
    """Edited files that the new tree has another content for, sorted."""


def states_of(tree: Path) -> dict[str, str]:
    """Type, mode and digest of each file and link of a tree, by its path in it; times do not count.

    Raises:
        HostError: ``not-writable`` (no right to read), ``file-operation-failed``.
    """
    with translated(tree):
        return {name: _state(tree / name) for name in sorted(_walk(tree))}


def _walk(tree: Path) -> Iterator[str]:
    for directory, below, files in os.walk(tree):
        links = [name for name in below if os.path.islink(os.path.join(directory, name))]  # noqa: PTH118, PTH114  fast
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(directory, name), tree)  # noqa: PTH118  as above


def _state(path: Path) -> str:
    """Empty where there is nothing, or what is there is a directory."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if stat.S_ISLNK(mode):
        return f"link {path.readlink()}"
    if not stat.S_ISREG(mode):
        return ""
    return f"{stat.S_IMODE(mode):o} {sha256_of(path)}"


def bring_up(
    new: Path, kept: Path, before: Mapping[str, str], states: Mapping[str, str], aside: Path
) -> Synced:
    """Move what changed since `before` from `new` into `kept`.

    What a build made in the kept tree stays, and so does what a person edited there.

    Args:
        new: the tree as it should be; it is used up.
        kept: the tree that is changed.
        before: what `kept` was laid with, as `states_of` tells it.
        states: what `states_of` tells of `new`.
        aside: directory for edited files that had to give way.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    changed = [name for name, state in states.items() if before.get(name) != state]
    gone = [name for name in before if name not in states]
    found = {name: _here(kept, name) for name in (*changed, *gone)}
    told = sorted(name for name in found if not name.endswith(_LOOKED_AT))
    edited = [name for name in told if found[name] not in ("", before.get(name), states.get(name))]
    with translated(kept):
        for name in edited:
            _set_aside(kept / name, aside / name)
        for name in gone:
            _remove(kept / name, kept)
        moved = [name for name in changed if found[name] != states[name]]
        for name in moved:
            _move(new / name, kept / name, kept)
    return Synced(changed=_working(moved), removed=_working(gone), set_aside=tuple(edited))


def _working(names: Iterable[str]) -> tuple[str, ...]:
    """Those that are no repository's own files, sorted."""
    return tuple(sorted(name for name in names if ".git" not in name.split("/")))


def _here(kept: Path, name: str) -> str:
    """The state in the kept tree; nothing where a link leads out of it on the way."""
    return "" if _is_behind_link(kept / name, kept) else _state(kept / name)


def _is_behind_link(path: Path, top: Path) -> bool:
    return any((top / part).is_symlink() for part in list(path.relative_to(top).parents)[:-1])


def _set_aside(path: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    shutil.move(path, place)


def _move(new: Path, kept: Path, top: Path) -> None:
    """By rename, under the time of now: an older time would hide the change from ninja."""
    for above in reversed(kept.relative_to(top).parents):
        place = top / above
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    if kept.is_dir() and not kept.is_symlink():
        remove_tree(kept)
    os.utime(new, follow_symlinks=False)
    new.replace(kept)


def _remove(path: Path, top: Path) -> None:
    """The file, and the directories of the tree above it that are empty then."""
    if _is_behind_link(path, top) or (path.is_dir() and not path.is_symlink()):
        return  # a build put something else there: it is not what the tree was laid with
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()
    for part in list(path.relative_to(top).parents)[:-1]:
        try:
            (top / part).rmdir()
        except OSError:
            return
