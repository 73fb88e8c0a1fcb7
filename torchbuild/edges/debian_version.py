"""The order of Debian's version numbers, as deb-version(7) defines it."""

from __future__ import annotations

import re

__all__ = ["version_key"]

_Part = tuple[tuple[tuple[int, ...], int], ...]


def version_key(version: str) -> tuple[int, _Part, _Part]:
    """A key that sorts whole versions, ``[EPOCH:]UPSTREAM[-REVISION]``, as dpkg compares them."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, dash, revision = rest.rpartition("-")
    if not dash:
        upstream, revision = rest, "0"
    return (int(epoch) if epoch.isdecimal() else 0, _part_key(upstream), _part_key(revision))


def _part_key(part: str) -> _Part:
    """Text and numbers in turn: a tilde before the end, the end before letters, letters before the rest."""
    pieces = re.findall(r"(\D*)(\d*)", part)
    return tuple(
        (tuple(_weight(letter) for letter in (*text, "")), int(number or 0)) for text, number in pieces
    )


def _weight(letter: str) -> int:
    if letter == "~":
        return -1
    if not letter:
        return 0
    return ord(letter) if letter.isalpha() else ord(letter) + 256
