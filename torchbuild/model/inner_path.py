"""A path that stays inside the directory that it is relative to."""

from __future__ import annotations

import posixpath
from typing import Annotated

from pydantic import AfterValidator

__all__ = ["InnerPath", "leaves"]


def leaves(path: str) -> bool:
    """Whether `path` is absolute, climbs out of what it is relative to, or is a repository's own.

    What lies in ``.git`` is no part of a tree, and no digest of the tree counts it.
    """
    parts = posixpath.normpath(path).split("/")
    return path.startswith("/") or "\0" in path or parts[0] == ".." or ".git" in map(str.lower, parts)


def _inner(path: str) -> str:
    if leaves(path):
        raise ValueError("wanted a relative path that stays inside, and out of .git")
    return path


InnerPath = Annotated[str, AfterValidator(_inner)]
"""Relative, not above where it begins, whatever ``..`` it holds, and not in ``.git``. No link is followed."""
