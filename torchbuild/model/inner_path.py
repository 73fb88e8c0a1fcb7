"""A path that stays inside the directory that it is relative to."""

from __future__ import annotations

import posixpath
from typing import Annotated

from pydantic import AfterValidator

__all__ = ["InnerPath", "leaves"]


def leaves(path: str) -> bool:
    """Whether `path` is absolute, or climbs out of the directory that it is relative to."""
    return path.startswith("/") or "\0" in path or posixpath.normpath(path).split("/")[0] == ".."


def _inner(path: str) -> str:
    if leaves(path):
        raise ValueError("wanted a relative path that stays inside")
    return path


InnerPath = Annotated[str, AfterValidator(_inner)]
"""Relative, and not above where it begins, whatever ``..`` it holds. No link is followed."""
