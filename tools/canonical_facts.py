"""Put torchbuild/knowledge/data/*.toml into their one form. --check: are they?

One form: each table is declared in tables.toml; its class reads each row; each row says where it is from
and when that was read; no key stands twice; rows stand in the declared order; ranges are written in one way;
lines end with LF, and hold no tab and no space at their end. What can be mended by moving and rewriting text
is mended; the rest is told.
"""

# ruff: noqa: INP001, T201  a script of the repository

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, Specifier
from packaging.version import Version
from pydantic import ValidationError

from torchbuild.knowledge.declared import Row, Table, declared_tables
from torchbuild.knowledge.overlay_rows import is_checked
from torchbuild.model.frozen import frozen_value

__all__ = ["canonical_range", "main", "mended", "problems"]

DATA = Path(__file__).resolve().parents[1] / "torchbuild" / "knowledge" / "data"
WITHOUT_SOURCE = ("references", "tables")
"""Words of this program, and what tables are: no facts."""
_BARE_DATE = re.compile(r"^checked = (\d{4}-\d\d-\d\d)$", re.MULTILINE)
_HEADER = re.compile(r"^\[\[?([^\[\]]+)\]\]?[ \t]*(?:#.*)?$")
_LEAST_SOURCE = 10
"""Letters: fewer name nothing that somebody could read."""


def main() -> int:
    """Exit code 0 where every table has its form; with ``--check`` nothing is written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say what has not its form")
    parser.add_argument("names", nargs="*", help="tables, such as cuda; all where none is named")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in DATA.glob("*.toml"))
    told: list[str] = []
    for name in names:
        path = DATA / f"{name}.toml"
        before = path.read_bytes().decode("utf-8")
        text = before if options.check else mended(name, before)
        if text != before:
            path.write_bytes(text.encode("utf-8"))
            print(path)
        told += problems(name, text)
    for line in told:
        print(line, file=sys.stderr)
    return 1 if told else 0


def problems(name: str, text: str) -> list[str]:
    """What about a file has not its form, each in a line."""
    found = [f"{name}.toml:{line}: {what}" for line, what in _letters(text)]
    tables = [item for item in declared_tables() if item.file == name]
    if name == "tables":
        return found
    parsed = tomllib.loads(text)
    named = {item.table for item in tables}
    found += [
        f"{name}.toml: [{key}] is not declared in tables.toml" for key in parsed if not named & {key, ""}
    ]
    for table in tables:
        found += [f"{name}.toml: {what}" for what in _table(table, parsed)]
    return found


def _letters(text: str) -> Iterator[tuple[int, str]]:
    """What no editor shows."""
    for number, line in enumerate(text.split("\n"), start=1):
        if "\t" in line or "\r" in line:
            yield number, "a tab or a carriage return"
        if line != line.rstrip():
            yield number, "space at the end"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield text.count("\n"), "wanted one line end at the end"


def _table(table: Table, parsed: dict[str, Any]) -> Iterator[str]:
    rows = dict(_rows(table, parsed))
    if not rows:
        yield f"{table.title} has no rows"
    for where, row in rows.items():
        yield from (f"{where}: {what}" for what in _row(table, row))
    if table.shape != "rows":
        return
    keys = [table.key_of(row) for row in rows.values()]
    yield from (
        f"{table.title}: {key} stands twice" for key in sorted({key for key in keys if keys.count(key) > 1})
    )
    places = [table.place_of(row) for row in rows.values()]
    later = [
        where
        for where, before, place in zip(list(rows)[1:], places, places[1:], strict=False)
        if place < before
    ]
    yield from (
        f"{where} stands behind its place in the order of {', '.join(table.order)}" for where in later
    )


def _rows(table: Table, parsed: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    if table.shape == "one":
        if table.table in parsed:
            yield table.title, parsed[table.table]
    elif table.shape == "named":
        named = parsed.get(table.table, {}) if table.table else parsed
        yield from ((f"{table.title} {name}", row) for name, row in named.items())
    else:
        yield from (
            (f"{table.title}[{number}] {' '.join(table.key_of(row))}", row)
            for number, row in enumerate(parsed.get(table.table, ()))
        )


def _row(table: Table, row: Row) -> Iterator[str]:
    if table.file not in WITHOUT_SOURCE:
        if not is_checked(row.get("checked")):
            yield f"checked = {row.get('checked')!r}: wanted a date in quotes, or unconfirmed"
        if len(str(row.get("source", ""))) < _LEAST_SOURCE:
            yield "no source that somebody could read"
        try:
            table.kind().model_validate(frozen_value(row))
        except (ValidationError, AttributeError, ModuleNotFoundError) as error:
            yield f"{table.row} does not read it: {' '.join(str(error).split())[:200]}"
    for column in table.ranges:
        seen = row.get(column, "")
        try:
            if seen != canonical_range(seen):
                yield f"{column} = {seen!r}: wanted {canonical_range(seen)!r}"
        except InvalidSpecifier:
            yield f"{column} = {seen!r} is no range"


def canonical_range(text: str) -> str:
    """The same range as this program writes it: without spaces, from where it begins to where it ends.

    Raises:
        InvalidSpecifier: it is none.
    """
    parts = [Specifier(part) for part in text.split(",")] if text else []
    ordered = sorted(
        parts, key=lambda part: (part.operator not in (">=", ">", "=="), part.operator == "!=", _number(part))
    )
    return ",".join(str(part) for part in ordered)


def _number(part: Specifier) -> Version:
    return Version(part.version.removesuffix(".*"))


def mended(name: str, text: str) -> str:
    """The text with all that can be mended without a thought: nothing of what it says is another."""
    text = text.replace("\r\n", "\n").replace("\t", "  ")
    text = "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n") + "\n"
    text = _BARE_DATE.sub(r'checked = "\1"', text)
    tables = {item.table: item for item in declared_tables() if item.file == name}
    columns = sorted({column for item in tables.values() for column in item.ranges})
    if columns:
        pattern = re.compile(rf'^({"|".join(columns)}) = "([^"\n]*)"$', re.MULTILINE)
        text = pattern.sub(lambda found: f'{found[1]} = "{_mended_range(found[2])}"', text)
    by_order = {key: item for key, item in tables.items() if item.shape == "rows" and item.order}
    moved = _ordered(text, by_order) if any(_unordered(item, text) for item in by_order.values()) else text
    return moved if _content(moved) == _content(text) else text


def _unordered(table: Table, text: str) -> bool:
    places = [table.place_of(row) for row in tomllib.loads(text).get(table.table, ())]
    return places != sorted(places)


def _content(text: str) -> dict[str, Any]:
    """What a file says, whatever the order of its rows."""
    return {
        key: sorted(map(repr, value)) if isinstance(value, list) else value
        for key, value in tomllib.loads(text).items()
    }


def _mended_range(text: str) -> str:
    try:
        return canonical_range(text)
    except InvalidSpecifier:
        return text


def _ordered(text: str, tables: dict[str, Table]) -> str:
    """The rows of each table in its order, each with the comment above it. Other text stays where it is."""
    blocks = _blocks(text)
    for key, table in tables.items():
        places = [number for number, (name, _) in enumerate(blocks) if name == key]
        rows = sorted(
            (blocks[number] for number in places), key=lambda block: table.place_of(_parsed(key, block[1]))
        )
        for number, block in zip(places, rows, strict=True):
            blocks[number] = block
    return "\n\n".join(block.strip("\n") for _, block in blocks) + "\n"


def _blocks(text: str) -> list[tuple[str, str]]:
    """Pieces between empty lines before headers, by the table that each belongs to; the head has no name."""
    found: list[tuple[str, str]] = []
    for piece in re.split(r"\n\n+", text):
        header = next((match for line in piece.split("\n") if (match := _HEADER.match(line))), None)
        name = header[1].strip() if header else ""
        inner = bool(found) and (not header or name.startswith(f"{found[-1][0]}."))
        if inner and found[-1][0]:
            found[-1] = (found[-1][0], f"{found[-1][1]}\n\n{piece}")
        else:
            found.append((name, piece))
    return found


def _parsed(key: str, block: str) -> Row:
    row: Row = tomllib.loads(block)[key][0]
    return row


if __name__ == "__main__":
    sys.exit(main())
