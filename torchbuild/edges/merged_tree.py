"""Several unpacked archives laid into one directory: moved, never copied, and nothing lost in silence."""

from __future__ import annotations

import os
from pathlib import Path

from torchbuild.edges.atomic import remove_tree, sha256_of, translated
from torchbuild.errors import StageError

__all__ = ["merge_tree"]

_PAPERS = ("license", "licence", "readme", "notice", "eula", "version.json", "__init__.py")
"""What each of several archives may bring under the same name without being the same: the first stays."""
_MOST_NAMES = 5


def merge_tree(source: Path, target: Path) -> None:
    """Move everything below `source` to its place below `target`; `source` is gone afterwards.

    Two files of one name must have the same bytes, but for papers such as a licence. Links stay links.

    Raises:
        StageError: ``parts-collide``, before anything was moved; ``parts-link-leaves`` where a link that was
            inside its archive leads out of the directory now.
        HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    with translated(target):
        collisions = _collisions(source, target)
        if collisions:
            raise _collide(collisions, target)
        target.mkdir(parents=True, exist_ok=True)
        _move(source, target)
        _refuse_ways_out(target)
    remove_tree(source)


def _collisions(source: Path, target: Path) -> list[str]:
    found = []
    for entry in _entries(source):
        path = source / entry
        here = target / entry
        if not os.path.lexists(here) or (_is_folder(path) and _is_folder(here)):
            continue
        if _is_folder(path) or _is_folder(here) or not (_is_paper(path) or _same(path, here)):
            found.append(entry)
    return found


def _entries(top: Path) -> list[str]:
    """Every name below, folders before what is in them, sorted."""
    return sorted(str(path.relative_to(top)) for path in top.rglob("*"))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_paper(path: Path) -> bool:
    return path.name.lower().startswith(_PAPERS)


def _same(one: Path, other: Path) -> bool:
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    return one.stat().st_size == other.stat().st_size and sha256_of(one) == sha256_of(other)


def _move(source: Path, target: Path) -> None:
    for path in sorted(source.iterdir()):
        here = target / path.name
        if _is_folder(path) and _is_folder(here):
            _move(path, here)
        elif not os.path.lexists(here):
            path.rename(here)


def _refuse_ways_out(target: Path) -> None:
    """What was safe in an archive of many folders may lead out once one of them is the top."""
    top = target.resolve()
    for path in target.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(top):
            raise StageError(
                "parts-link-leaves",
                f"an archive's link leads out of {target.name}",
                why=(
                    f"seen {path.relative_to(target)} -> {path.readlink()}",
                    "wanted: links stay inside",
                ),
                fix="Name another archive; this one was not made to be laid in a place of its own.",
            )


def _collide(names: list[str], target: Path) -> StageError:
    return StageError(
        "parts-collide",
        f"two archives bring other bytes for the same file of {target.name}",
        why=(
            f"seen {', '.join(names[:_MOST_NAMES])}",
            "wanted the same bytes, or one archive",
        ),
        fix="Name archives of one release; make the lock anew with `torchbuild lock`.",
    )
