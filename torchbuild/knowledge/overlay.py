"""The user's own facts, laid over ours row by row.

A row with the key of one of ours takes its place; one with a new key is added; ``remove = true`` takes ours
away. A row is never mixed of two: its source would be nobody's. Where the first row that fits counts, the
user's stand before ours. What was changed is kept line by line, for the lock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torchbuild.errors import Problem, RecipeError
from torchbuild.knowledge.declared import Key, Row, Table
from torchbuild.knowledge.fact import Laid, Overlay, own_file
from torchbuild.knowledge.overlay_rows import UserRow, user_rows

__all__ = ["Lines", "Overlay", "no_lines", "read_overlay"]

Lines = Callable[[str], Mapping[str, int]]
"""Line of each key of a TOML text by its dotted path, for messages."""
_MOST = 100
"""How many problems are told at once."""


def no_lines(_text: str) -> Mapping[str, int]:
    """For who knows no lines."""
    return {}


def read_overlay(texts: Mapping[str, str], lines: Lines = no_lines, folder: str = "") -> Overlay:
    """The overlay. Pure: the files are read elsewhere.

    Args:
        texts: what stands in the user's files, by name without ``.toml``.
        lines: finds the line of a key, for messages.
        folder: where the files lie, for messages.

    Raises:
        RecipeError: ``facts-invalid`` with every problem of every file.
    """
    problems: list[Problem] = []
    rows: list[UserRow] = []
    for name in sorted(texts):
        found = tuple(user_rows(name, texts[name]))
        rows += (item for item in found if isinstance(item, UserRow))
        wrong = [item for item in found if isinstance(item, Problem)]
        problems += _placed(wrong, f"{name}.toml", lines, texts[name])
    if problems:
        raise _invalid(problems[:_MOST], folder)
    files = tuple(
        laid for name in sorted(texts) if (laid := _laid(name, [item for item in rows if item.file == name]))
    )
    touched = {item.file for item in files}
    changes = tuple(line for item in rows if item.file in touched for line in _line(item))
    return Overlay(sha256=_digest(dict(texts)) if texts else "", files=files, changes=changes)


def _placed(problems: Iterable[Problem], file: str, lines: Lines, text: str) -> list[Problem]:
    known = lines(text)
    return [
        Problem(
            path=item.path,
            seen=item.seen,
            wanted=item.wanted,
            line=item.line or _nearest_line(item.path, known),
            file=file,
            suggestion=item.suggestion,
        )
        for item in problems
    ]


def _nearest_line(path: str, known: Mapping[str, int]) -> int | None:
    """The line of the key, else of what it is in."""
    while path:
        if path in known:
            return known[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return None


def _invalid(problems: list[Problem], folder: str) -> RecipeError:
    what = f"{len(problems)} {'problem' if len(problems) == 1 else 'problems'} in your own facts"
    return RecipeError(
        "facts-invalid",
        f"{what} in {folder}" if folder else what,
        problems=tuple(problems),
        fix="Correct the files named above, or move them away: without them this program's own facts count.",
    )


def _laid(name: str, rows: list[UserRow]) -> Laid | None:
    """A file of ours with the user's rows in it; None where they say nothing new."""
    new = [item for item in rows if item.outcome != "same"]
    if not new:
        return None
    tables = dict(own_file(name))
    for table in dict.fromkeys(item.table for item in new):
        mine = [item for item in new if item.table == table]
        if table.shape == "rows":
            tables[table.table] = _with_rows(table, tables.get(table.table, []), mine)
        elif table.shape == "one":
            tables[table.table] = mine[-1].row
        elif table.table:
            tables[table.table] = _with_names(tables[table.table], mine)
        else:
            tables = _with_names(tables, mine)
    return Laid(file=name, tables=tables, sha256=_digest(tables))


def _with_rows(table: Table, ours: list[Row], theirs: list[UserRow]) -> list[Row]:
    """Replaced in place; added before ours, or where the table's order wants it."""
    changed: dict[Key, UserRow] = {item.key: item for item in theirs}
    kept = [(changed[key].row if key in changed else row) for row in ours for key in (table.key_of(row),)]
    known = {table.key_of(row) for row in ours}
    added = [item.row for item in theirs if item.key not in known]
    rows = [row for row in (*added, *kept) if row is not None]
    return rows if table.is_first_match else sorted(rows, key=table.place_of)


def _with_names(ours: dict[str, Any], theirs: list[UserRow]) -> dict[str, Any]:
    changed = {item.key[0]: item.row for item in theirs}
    return {name: row for name, row in (ours | changed).items() if row is not None}


def _line(item: UserRow) -> tuple[str, ...]:
    if item.outcome == "same":
        return ()
    digest = f", sha256 {_digest(item.row)}" if item.row is not None else ""
    return (f"{item.title}: {item.outcome} by the user's overlay{digest}",)


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
