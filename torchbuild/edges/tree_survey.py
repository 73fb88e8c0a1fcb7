"""What a laid tree may hold that nobody sees: ways into other repositories, names of files in their place."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from torchbuild.edges.atomic import translated

__all__ = ["lfs_pointers", "outside_repositories"]

_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_LONGEST_POINTER = 1023
"""Bytes; longer files are none, says the format."""
_WAYS = ("commondir", "objects/info/alternates")
"""Files of a repository that can name another one."""


def outside_repositories(tree: Path) -> tuple[str, ...]:
    """Paths of the tree that lead git to a repository elsewhere, sorted.

    A ``.git`` file or link, or what a ``.git`` directory says of its other half. Git inside the tree would
    read there: history, hooks and configuration that no digest covers.

    Raises:
        HostError: ``not-writable`` (no right to read), ``file-operation-failed``.
    """
    top = tree.resolve()
    found = []
    for directory, below, files in os.walk(top):
        if ".git" in below or ".git" in files:
            found += [way for way in _ways(Path(directory, ".git")) if not _stays(way, top)]
        below[:] = [name for name in below if name != ".git"]
    return tuple(sorted(path.relative_to(top).as_posix() for path in found))


def _ways(git: Path) -> Iterator[Path]:
    """Files and links of one repository that name a place."""
    if git.is_symlink() or git.is_file():
        yield git
        return
    for name in _WAYS:
        if (git / name).is_file() or (git / name).is_symlink():
            yield git / name


def _stays(way: Path, top: Path) -> bool:
    """Whether all that is named lies in the tree; an absolute path never does: trees are built elsewhere."""
    if way.is_symlink():
        return way.resolve().is_relative_to(top)
    with translated(way):
        lines = way.read_bytes().splitlines()
    base = way.parents[1] if way.name == "alternates" else way.parent
    named = [os.fsdecode(line).removeprefix("gitdir:").strip() for line in lines if line.strip()]
    return all(
        "\0" not in name and not name.startswith("/") and (base / name).resolve().is_relative_to(top)
        for name in named
    )


def lfs_pointers(tree: Path) -> tuple[str, ...]:
    """Files that git-lfs would have replaced by what they name, sorted; repositories' own files left out.

    Raises:
        HostError: ``not-writable`` (no right to read), ``file-operation-failed``.
    """
    found = []
    with translated(tree):
        for directory, below, files in os.walk(tree):
            below[:] = [name for name in below if name != ".git"]
            found += [path for name in files if _is_pointer(path := Path(directory, name))]
    return tuple(sorted(path.relative_to(tree).as_posix() for path in found))


def _is_pointer(path: Path) -> bool:
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode) or not len(_POINTER) < state.st_size <= _LONGEST_POINTER:
        return False
    with path.open("rb") as file:
        return file.read(len(_POINTER)) == _POINTER
