"""Reading ``.ninja_log``: which edges ran, when, for how long; several runs of ninja in one file.

Formats 5, 6 and 7 have one line an output: start and end in milliseconds since that ninja began, a file
time, the output's path and a digest of its command. A build may be killed and go on, and ninja rewrites the
file now and then in no order: each run is found again by its clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["LogEdge", "LogRun", "NinjaLog", "UnreadableLogError", "parse_ninja_log"]

_FORMATS = (5, 6, 7)
_BEGINS_WITH_START = 6
"""From this format on the file time is the one when the command began; before, the output's own."""
_FIELDS = 5
_MOST_ROWS = 2_000_000
_LONGEST_NAME = 4096
_LONGEST_NUMBER = 20
_MOST_MS = 10 * 366 * 86_400_000
_NS_PER_MS = 1_000_000
_YEAR_2001_NS = 10**18
_TOLERANCE_MS = 2000
"""How far two views of one beginning may be apart."""
_FEW = 2
"""So many runs are taken from the order of the lines as they are."""
_OBJECTS = (".o", ".obj")


class UnreadableLogError(ValueError):
    """It is no log of ninja, or of a format that nobody here knows."""


class LogEdge(NamedTuple):
    """One command that ninja ran to its end."""

    output: str
    """Its first output, as in the log."""
    outputs: int
    """How many it has."""
    start_ms: int
    """When it began, since its run began."""
    end_ms: int
    """When it ended."""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end_ms - self.start_ms) / 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class LogRun:
    """What one process of ninja did."""

    began_ms: int | None
    """When it began, since 1970; None where the log does not tell."""
    edges: tuple[LogEdge, ...]
    """By their end."""

    @property
    def end_ms(self) -> int:
        """When its last edge ended, since it began."""
        return max((edge.end_ms for edge in self.edges), default=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class NinjaLog:
    """A whole log."""

    version: int
    """The format."""
    runs: tuple[LogRun, ...]
    """Oldest first; none is empty."""
    ignored: int
    """Lines that say nothing."""

    def last(self) -> dict[str, LogEdge]:
        """What each output took when it was made for the last time."""
        return {edge.output: edge for run in self.runs for edge in run.edges}


class _Row(NamedTuple):
    start: int
    end: int
    began: int | None
    """When its run began, as its file time tells it, in milliseconds since 1970."""
    output: str
    command: str

    @property
    def earliest(self) -> int | None:
        """The earliest beginning that fits: a rule with restat notes a time while it ran, or its end."""
        return None if self.began is None else self.began - (self.end - self.start)


def parse_ninja_log(text: str) -> NinjaLog:
    """All runs of a log.

    Lines that are cut off or say what cannot be are passed over and counted: ninja does so as well.

    Raises:
        UnreadableLogError: it has no head, or one of another format.
    """
    head, _, body = text.partition("\n")
    version = _version(head)
    rows: list[_Row] = []
    ignored = 0
    for line in body.split("\n"):
        row = _row(line, version) if len(rows) < _MOST_ROWS else None
        if row is not None:
            rows.append(row)
        elif line and not line.startswith("# ninja log"):
            ignored += 1
    runs = tuple(_run(group) for group in _groups(rows, version))
    return NinjaLog(version=version, runs=runs, ignored=ignored)


def _version(head: str) -> int:
    word = head.removeprefix("# ninja log v").strip()
    if head == word or not word.isascii() or not word.isdigit() or len(word) > 1:
        message = f"it does not begin as a log of ninja: {head[:60]!a}"
        raise UnreadableLogError(message)
    if int(word) not in _FORMATS:
        message = f"format {word} of a log of ninja; known are {', '.join(map(str, _FORMATS))}"
        raise UnreadableLogError(message)
    return int(word)


def _row(line: str, version: int) -> _Row | None:
    fields = line.split("\t")
    if len(fields) != _FIELDS or not 0 < len(fields[3]) <= _LONGEST_NAME:
        return None
    start, end, mtime = (_number(field) for field in fields[:3])
    if start is None or end is None or mtime is None or not start <= end <= _MOST_MS:
        return None
    began = None
    if mtime >= _YEAR_2001_NS:
        began = mtime // _NS_PER_MS - (start if version >= _BEGINS_WITH_START else end)
    return _Row(start, end, began, fields[3], fields[4])


def _number(text: str) -> int | None:
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_NUMBER:
        return None
    return int(text)


def _groups(rows: list[_Row], version: int) -> list[list[_Row]]:
    """The rows of each run: by their order where there is one, else by their clocks."""
    by_order = list(_by_order(rows, version))
    if version < _BEGINS_WITH_START or len(by_order) <= _FEW or any(row.began is None for row in rows):
        return by_order
    by_clock = list(_by_clock(rows, version))
    return by_clock if 2 * len(by_clock) < len(by_order) else by_order


def _by_order(rows: list[_Row], version: int) -> Iterator[list[_Row]]:
    """A run appends a line when an edge ends, and makes nothing twice: else it is another run's."""
    group: list[_Row] = []
    made: set[str] = set()
    began: int | None = None
    for row in rows:
        is_later = version >= _BEGINS_WITH_START and not _fits(row, began)
        if group and (row.end < group[-1].end or is_later or row.output in made):
            yield group
            group, made, began = [], set(), None
        group.append(row)
        made.add(row.output)
        if row.began is not None:
            began = row.began if began is None else min(began, row.began)
    if group:
        yield group


def _fits(row: _Row, began: int | None) -> bool:
    """Whether it may be of a run that began then; only a later beginning speaks against it."""
    if began is None or row.began is None or row.began <= began + _TOLERANCE_MS:
        return True
    earliest = row.earliest
    is_exact = row.output.endswith(_OBJECTS)
    return not is_exact and earliest is not None and earliest <= began + _TOLERANCE_MS


def _by_clock(rows: list[_Row], version: int) -> Iterator[list[_Row]]:
    """Ninja wrote the file anew, in no order: rows whose clocks began together are one run's."""
    group: list[tuple[int, _Row]] = []
    began: int | None = None
    for place, row in sorted(enumerate(rows), key=lambda item: (item[1].began or 0, item[1].end)):
        if group and not _fits(row, began):
            yield from _of_one_clock(group, version)
            group, began = [], None
        group.append((place, row))
        began = row.began if began is None else began
    if group:
        yield from _of_one_clock(group, version)


def _of_one_clock(group: list[tuple[int, _Row]], version: int) -> Iterator[list[_Row]]:
    """Runs within a second share a clock; what is there twice tells of several, in the order of the file."""
    if len({row.output for _, row in group}) < len(group):
        yield from _by_order([row for _, row in sorted(group, key=lambda item: item[0])], version)
    else:
        yield sorted((row for _, row in group), key=lambda row: row.end)


def _run(rows: list[_Row]) -> LogRun:
    """Outputs of one command stand in lines of their own."""
    edges: dict[tuple[int, int, str], tuple[str, int]] = {}
    for row in rows:
        key = (row.start, row.end, row.command)
        output, count = edges.get(key, (row.output, 0))
        edges[key] = (output, count + 1)
    clocks = sorted(row.began for row in rows if row.began is not None)
    return LogRun(
        # a rule with restat notes a later time: most others tell the beginning
        began_ms=clocks[len(clocks) // 4] if clocks else None,
        edges=tuple(LogEdge(output, count, start, end) for (start, end, _), (output, count) in edges.items()),
    )
