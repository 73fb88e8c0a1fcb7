"""What stands in one file of a user's facts: rows that can be laid over ours, and problems."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from typing import Any, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from torchbuild.errors import Problem
from torchbuild.knowledge.declared import Key, Row, Table, declared_files, declared_tables
from torchbuild.knowledge.fact import own_file
from torchbuild.model.frozen import frozen_value

__all__ = ["MAX_SIZE", "UserRow", "is_checked", "user_rows"]

MAX_SIZE = 1_000_000
"""Characters of a file; ours have some ten thousand."""
_MOST_PARTS = 40
_LONG_KEY = re.compile(rf"(?:[\w\-\"']{{1,60}}[ \t]*\.[ \t]*){{{_MOST_PARTS}}}")
"""The parser takes quadratic time for a key of many parts."""
_WIDTH = 60
_ALWAYS = ("source", "checked")
_UNCONFIRMED = "unconfirmed"
_REMOVE = "remove"

Outcome = Literal["added", "replaced", "removed", "same"]


@dataclass(frozen=True, kw_only=True, slots=True)
class UserRow:
    """One row of the user's."""

    table: Table
    """Where it belongs."""
    path: str
    """Where it stands in the user's file."""
    key: Key
    """What it is known by."""
    row: Row | None
    """As it is written; None: ours is taken away."""
    outcome: Outcome
    """What it does to ours."""

    @property
    def file(self) -> str:
        """The file that it belongs to."""
        return self.table.file

    @property
    def title(self) -> str:
        """Such as ``gpus.product GeForce GTX 9999``."""
        return " ".join((self.table.title, _named(self.key))).rstrip()


def is_checked(value: object) -> bool:
    """Whether this says when somebody looked: a date, or that nobody did."""
    if value == _UNCONFIRMED:
        return True
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def user_rows(file: str, text: str) -> Iterator[UserRow | Problem]:
    """Every row of a file, or what is wrong with it. Never raises, whatever the text is."""
    if file not in declared_files():
        open_files = dict.fromkeys(f"{item.file}.toml" for item in declared_tables() if not item.why)
        yield _unknown("", f"a file {_shown(file + '.toml')}", open_files)
        return
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        yield Problem(path="", seen="bytes that are no text", wanted="text in UTF-8")
        return
    if len(text) > MAX_SIZE or _LONG_KEY.search(text):
        wanted = f"at most {MAX_SIZE} letters, and keys of a few parts"
        yield Problem(path="", seen=f"{len(text)} letters", wanted=wanted)
        return
    try:
        parsed = tomllib.loads(text)
        yield from _file(file, parsed)
    except (ValueError, RecursionError) as error:
        yield Problem(path="", seen=str(error)[: _WIDTH * 2] or type(error).__name__, wanted="TOML")


def _file(file: str, parsed: dict[str, Any]) -> Iterator[UserRow | Problem]:
    tables = {item.table: item for item in declared_tables() if item.file == file}
    closed = next((item for item in tables.values() if item.why), None)
    if closed is not None:
        wanted = f"another file: no rows lie over it, since {closed.why}"
        yield Problem(path="", seen=f"{file}.toml", wanted=wanted)
        return
    seen: set[tuple[str, Key]] = set()
    for name, value in parsed.items():
        table = tables.get(name, tables.get(""))
        if table is None:
            yield _unknown(name, f"unknown table {_shown(name)}", list(tables))
            continue
        for item in _table(table, name, value):
            if isinstance(item, UserRow):
                if (table.table, item.key) in seen:
                    yield Problem(path=item.path, seen="the same key twice", wanted="one row")
                    continue
                seen.add((table.table, item.key))
            yield item


def _table(table: Table, name: str, value: object) -> Iterator[UserRow | Problem]:
    """The rows of one top-level key."""
    if table.shape == "rows":
        if not isinstance(value, list):
            yield Problem(path=name, seen=_shown(value), wanted=f"[[{name}]]")
            return
        for number, row in enumerate(value):
            yield from _row(table, f"{name}[{number}]", row, None)
    elif table.shape == "one" or not table.table:
        yield from _row(table, name, value, (name,) if table.shape == "named" else ())
    elif isinstance(value, dict):
        for inner, row in value.items():
            yield from _row(table, f"{name}.{inner}", row, (inner,))
    else:
        yield Problem(path=name, seen=_shown(value), wanted=f"[{name}.NAME]")


def _row(table: Table, path: str, row: object, key: Key | None) -> Iterator[UserRow | Problem]:
    if not isinstance(row, dict):
        yield Problem(path=path, seen=_shown(row), wanted="a table")
        return
    removes = _REMOVE in row
    wrong = tuple(_removal(table, path, row) if removes else _whole(table, path, row))
    if wrong:
        yield from wrong
        return
    known = _ours(table)
    own = table.key_of(row) if key is None else key
    if not all(part.isprintable() for part in own):
        yield Problem(path=path, seen=ascii(_named(own)), wanted="letters that print")
    elif not removes:
        outcome: Outcome = "added" if own not in known else "same" if known[own] == row else "replaced"
        yield UserRow(table=table, path=path, key=own, row=row, outcome=outcome)
    elif own in known and table.shape != "one":
        yield UserRow(table=table, path=path, key=own, row=None, outcome="removed")
    elif table.shape == "one":
        yield Problem(path=f"{path}.remove", seen="true", wanted="a whole row: something must stand there")
    else:
        names, wanted = [_named(item) for item in known], "the key of one that is there"
        yield _unknown(path, f"no row {_shown(_named(own))} of ours", names, wanted)


def _ours(table: Table) -> dict[Key, Row]:
    """Our own rows by key."""
    tables = own_file(table.file)
    if table.shape == "rows":
        return {table.key_of(row): row for row in tables.get(table.table, ())}
    if table.shape == "one":
        return {(): tables[table.table]}
    return {(name,): row for name, row in (tables[table.table] if table.table else tables).items()}


def _removal(table: Table, path: str, row: Row) -> Iterator[Problem]:
    """What is wrong with a row that takes one of ours away."""
    if row[_REMOVE] is not True:
        yield Problem(path=f"{path}.{_REMOVE}", seen=_shown(row[_REMOVE]), wanted="true, or leave it out")
    columns = (*table.key, *_ALWAYS)
    for column in row:
        if column not in (*columns, _REMOVE):
            yield _unknown(f"{path}.{column}", f"{_shown(column)} of a row to remove", list(columns))
    for column in columns:
        if column not in row:
            yield Problem(path=f"{path}.{column}", seen="nothing", wanted="a value: the column is required")
    yield from _sourced(path, row)


def _whole(table: Table, path: str, row: Row) -> Iterator[Problem]:
    """What is wrong with a row that is to count."""
    kind = table.kind()
    columns = [field.alias or name for name, field in kind.model_fields.items()]
    try:
        kind.model_validate(frozen_value(row))
    except ValidationError as error:
        details = error.errors(include_url=False)
        yield from (_problem(path, item, columns) for item in details if not _is_told(item))
    yield from _sourced(path, row)
    for column in table.ranges:
        if isinstance(row.get(column), str) and not _is_range(row[column]):
            wanted = 'a range of releases, such as ">=12.4,<13"'
            yield Problem(path=f"{path}.{column}", seen=_shown(row[column]), wanted=wanted)


def _is_told(detail: ErrorDetails) -> bool:
    """Whether `_sourced` says it, and better."""
    return detail["loc"] == ("checked",) and detail["type"] != "missing"


def _sourced(path: str, row: Row) -> Iterator[Problem]:
    """What was read, and when; that a column is missing is told by the others."""
    if isinstance(row.get("source"), str) and not row["source"].strip():
        yield Problem(path=f"{path}.source", seen='""', wanted="what was read")
    if "checked" in row and not is_checked(row["checked"]):
        wanted = f'a date in quotes, such as "2026-11-30", or "{_UNCONFIRMED}"'
        yield Problem(path=f"{path}.checked", seen=_shown(row["checked"]), wanted=wanted)


def _is_range(text: str) -> bool:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


def _problem(path: str, detail: ErrorDetails, columns: list[str]) -> Problem:
    place = path + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        return _unknown(place, f"unknown column {_shown(detail['loc'][-1])}", columns)
    if detail["type"] == "missing":
        return Problem(path=place, seen="nothing", wanted="a value: the column is required")
    return Problem(path=place, seen=_shown(detail["input"]), wanted=_wanted(detail))


def _wanted(detail: ErrorDetails) -> str:
    expected = detail.get("ctx", {}).get("expected")
    if expected:
        return str(expected)
    said = detail["msg"].removeprefix("Value error, wanted ").removeprefix("Input should be ")
    return said.replace("a valid string", "text, in quotes").replace("a valid tuple", "a list")


def _unknown(path: str, seen: str, known: Iterable[str], wanted: str = "") -> Problem:
    names = [name for name in known if name]
    word = seen.rpartition('"')[0].rpartition('"')[2] if '"' in seen else path
    near = get_close_matches(word[:_WIDTH], names, n=1)
    return Problem(
        path=path,
        seen=seen,
        wanted=wanted or "one of " + ", ".join(names),
        suggestion=near[0] if near else "",
    )


def _named(key: Key) -> str:
    return " / ".join(part or '""' for part in key)[:_WIDTH]


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
