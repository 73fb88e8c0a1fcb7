"""Where a key stands in a TOML text, for messages. The standard parser gives no positions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Place", "Places", "key_lines", "place_of"]

_HEADER = re.compile(r"""^\s*(\[\[?)((?:[^\]"']|"[^"]*"|'[^']*')+)\]\]?\s*(?:#.*)?$""")
_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_TOKEN = re.compile(r""""{3}|'{3}|"(?:\\.|[^"\\])*"|'[^']*'|[#\[\]{}]""")
_ENDS = {'"""': re.compile(r'(?:\\.|(?!""")[^\\])*"{3,5}'), "'''": re.compile(r"(?:(?!''').)*'{3,5}")}
_MOST_PARTS = 40
"""A key with more parts is no key of ours; without a bound a hostile one would cost quadratic time."""


class Place(NamedTuple):
    """Where a key stands."""

    file: str
    """The file, or ``--set``."""
    line: int | None
    """Counted from 1; None where there are no lines."""


Places = Mapping[str, Place]
"""Where each key stands, by its dotted path."""


def place_of(path: str, places: Places) -> Place | None:
    """Where the key stands, else the table that it would be in; None where neither stands anywhere."""
    while path:
        if path in places:
            return places[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return None


def key_lines(text: str) -> dict[str, int]:
    """Line, counted from 1, of each table and key: ``{"source.overlay[0].to": 12}``.

    Good for messages only: keys inside inline tables get the line of what encloses them. Never raises.
    """
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    scan = _Scan()
    prefix = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if scan.is_open:
            scan.feed(line)
        elif header := _HEADER.match(line):
            prefix = _table(header[1], _parts(header[2]), counts)
            _note(found, prefix, number)
        elif key := _KEY.match(line):
            _note(found, ".".join(([prefix] if prefix else []) + _parts(key[1])), number)
            scan.feed(line[key.end() :])
    return found


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(dotted)[:_MOST_PARTS]]


def _note(found: dict[str, int], path: str, number: int) -> None:
    """The first line counts; a dotted key stands for the tables that it names."""
    while path and path not in found:
        found[path] = number
        path = path.rpartition(".")[0]


def _table(brackets: str, parts: list[str], counts: dict[str, int]) -> str:
    """The path that a header opens: each list of tables in it means its latest item."""
    path = ""
    for position, part in enumerate(parts):
        path = f"{path}.{part}" if path else part
        if brackets == "[[" and position == len(parts) - 1:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = f"{path}[{counts[path] - 1}]"
    return path


class _Scan:
    """What a value has left open at the end of a line: a long string, or brackets."""

    def __init__(self) -> None:
        self._quote = ""
        self._depth = 0

    @property
    def is_open(self) -> bool:
        """Whether the next line still belongs to the value."""
        return bool(self._quote) or self._depth > 0

    def feed(self, text: str) -> None:
        """Take one line, or what is left of it after the key."""
        position = 0
        while position < len(text):
            if self._quote:
                end = _ENDS[self._quote].match(text, position)
                if end is None:
                    return
                self._quote, position = "", end.end()
            token = _TOKEN.search(text, position)
            if token is None or token[0] == "#":
                return
            position = token.end()
            self._take(token[0])

    def _take(self, mark: str) -> None:
        if mark in _ENDS:
            self._quote = mark
        elif mark in "[{":
            self._depth += 1
        elif mark in "]}":
            self._depth = max(0, self._depth - 1)
