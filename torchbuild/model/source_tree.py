"""A source directory of this machine, as a quick look finds it; nothing of it is read in full."""

from __future__ import annotations

from typing import Literal

from torchbuild.model.frozen import Frozen

__all__ = ["SourceTree"]


class SourceTree(Frozen):
    """What of a directory would stop or mislead a build."""

    path: str
    """As the recipe names it."""
    exists: bool = True
    """Whether it is a directory that we may read."""
    has_front_end: bool = True
    """Whether ``pyproject.toml`` or ``setup.py`` is at its top."""
    git: Literal["", "directory", "file", "dangling"] = ""
    """What ``.git`` is: ``dangling`` for a file that names a directory which is not there."""
    owner_differs: bool = False
    """Whether it belongs to somebody else, where git refuses to look."""
    empty_submodules: tuple[str, ...] = ()
    """Folders that ``.gitmodules`` names and that hold nothing."""
    cache: str = ""
    """A ``CMakeCache.txt`` of an earlier build inside it, relative; empty for none."""
    cache_says: dict[str, str] = {}  # noqa: RUF012  pydantic copies it
    """Entries of that cache that were looked for and are there."""
    not_executable: tuple[str, ...] = ()
    """Scripts that begin with ``#!`` and cannot be started."""
    future: tuple[str, ...] = ()
    """Files whose time lies ahead of this machine's clock."""
