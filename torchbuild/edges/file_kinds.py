"""Whether bytes that no digest vouches for can be the file that was asked for at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated
from torchbuild.errors import FetchError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["refuse_other_kind"]

_BEGINNINGS = {
    (".xz", ".txz"): b"\xfd7zXZ\x00",
    (".gz", ".tgz"): b"\x1f\x8b",
    (".bz2", ".tbz2"): b"BZh",
    (".zip", ".whl"): b"PK",
    (".run",): b"#!",
}
"""Endings of names, and how what is so named begins."""
_PAGES = (b"<!doctype", b"<html", b"<?xml")
_LOOK = 512


def refuse_other_kind(path: Path, name: str, where: str) -> None:
    """Nothing, where the file begins as one of its name does and is not empty.

    A portal or a proxy may answer with a page of its own, and status 200: it would be trusted and locked.

    Args:
        path: the bytes.
        name: the file's name.
        where: where they came from, for the error.

    Raises:
        FetchError: ``not-the-file``.
    """
    with translated(path), path.open("rb") as file:
        head = file.read(_LOOK)
    begins = next((mark for endings, mark in _BEGINNINGS.items() if name.endswith(endings)), b"")
    if head and head.startswith(begins) and not head.lstrip().lower().startswith(_PAGES):
        return
    raise FetchError(
        "not-the-file",
        f"{where}: what came cannot be {name}",
        why=(f"seen: it begins with {head[:40]!r}", f"wanted: {begins!r}" if begins else "wanted: no page"),
        fix="Look at what the address gives: a page of a proxy or portal, a mirror that serves another file.",
    )
