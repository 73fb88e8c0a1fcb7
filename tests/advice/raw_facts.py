"""The tables of facts, read with nothing of ours: what `checker.py` and the golden questions are held against."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

__all__ = ["Row", "first_row", "holds", "is_row", "matching_rows", "numbers", "reaches", "rows", "wish_row"]

Row = dict[str, Any]

_DATA = Path(__file__).resolve().parents[2] / "torchbuild" / "knowledge" / "data"
_RANGE = re.compile(r"\s*(?:[<>]=?|[=!~]=)")
_SPEECH = frozenset({"source", "checked", "note", "what", "lacks"})


@cache
def _file(name: str) -> dict[str, Any]:
    return tomllib.loads((_DATA / f"{name}.toml").read_text(encoding="utf-8"))


def rows(table: str) -> list[Row]:
    """All rows of ``FILE.TABLE``; none where there is no such table."""
    file, _, name = table.partition(".")
    if not (_DATA / f"{file}.toml").is_file():
        return []
    found = _file(file).get(name, [])
    return [found] if isinstance(found, dict) else list(found)


def first_row(table: str, /, **wanted: Any) -> Row | None:
    """The first row whose columns are these."""
    return next(
        (row for row in rows(table) if all(row.get(key) == value for key, value in wanted.items())), None
    )


def holds(version: str, wanted: str) -> bool:
    """Whether a version lies in a range; an empty range is any."""
    if not wanted:
        return True
    try:
        return SpecifierSet(wanted).contains(Version(version), prereleases=True)
    except (InvalidVersion, InvalidSpecifier):
        return False


def numbers(version: str) -> tuple[int, ...]:
    """``570.86.16`` as numbers that compare."""
    return tuple(int(part) for part in re.findall(r"[0-9]+", version))


def reaches(driver: str, floor: str) -> bool:
    """Whether a driver is no older than another. A branch alone is taken for a current release of it."""
    have, want = numbers(driver), numbers(floor)
    if len(have) == 1:
        return have[0] >= want[0]
    return (*have, 0, 0)[:3] >= (*want, 0, 0)[:3]


def wish_row(row: str) -> bool:
    """Whether a wish has such a field, perhaps one item of it, as in ``gpus[1]`` or ``gpus: GTX 980``."""
    from torchbuild.advice.wish import Wish

    return re.split(r"[^a-z_]", row, maxsplit=1)[0] in Wish.model_fields


@cache
def matching_rows(table: str, row: str) -> frozenset[int]:
    """Places of the rows that a name means: a value of a row, or several, each a value or a release in a range.

    An empty name means the table as a whole.
    """
    found = rows(table)
    if not row:
        return frozenset(range(len(found)))
    exact = {place for place, item in enumerate(found) if row in _values(item)}
    if exact:
        return frozenset(exact)
    words = [word for word in re.split(r"[\s/;]+", row) if word]
    return frozenset(place for place, item in enumerate(found) if all(_has(item, word) for word in words))


@cache
def is_row(table: str, row: str) -> bool:
    """Whether a table has a row of exactly this key, its columns joined by ``/``; an empty one means the table."""
    file, _, name = table.partition(".")
    kept = first_row("tables.table", file=file, table=name)
    return kept is not None and any(
        not row or "/".join(str(item.get(key)) for key in kept["key"]) == row for item in rows(table)
    )


def _values(item: Row) -> Iterator[str]:
    for key, value in item.items():
        if key not in _SPEECH:
            yield from (str(part) for part in (value if isinstance(value, list) else [value]))


def _has(item: Row, word: str) -> bool:
    said = list(_values(item))
    return word in said or any(_RANGE.match(value) and holds(word, value) for value in said)
