"""What runs at this moment: the shim's small file, looked at while a build works, and told as events."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeGuard

from torchbuild.errors import HostError
from torchbuild.report.events import Activity, Running

__all__ = ["LiveActivity", "parse_activity", "running_edges"]

_INTERVAL_S = 1.0
_LEAST_SILENT, _MOST_SILENT = 2, 10
"""Looks. The same edges are told again: their time and the memory go on."""
_MOST_EDGES = 12
_LONGEST_NAME = 300
_LARGEST = 2**60
_LONGEST = 1 << 16
_LAST_LOOK_S = 5.0
"""A file system that hangs is no reason not to end."""


def parse_activity(stage: str, text: str | None) -> Activity | None:
    """What the file says; None where there is none, or it is not ours."""
    try:
        said = json.loads(text[:_LONGEST] if text else "null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    edges = said.get("edges")
    return Activity(
        stage=stage,
        edges=tuple(_edges(edges if isinstance(edges, list) else [])),
        running=_count(said, "running") or 0,
        waiting=_count(said, "waiting") or 0,
        tokens=_count(said, "tokens"),
        jobs=_count(said, "jobs"),
        memory=_count(said, "memory"),
        memory_total=_count(said, "memory_total"),
        cache_hits=_count(said, "hits"),
        cache_calls=_count(said, "calls"),
    )


def running_edges(text: str | None) -> dict[str, float]:
    """What runs, by what it makes, and for how long it has; those that wait have not begun."""
    seen = parse_activity("", text)
    return {edge.name: edge.seconds for edge in seen.edges if not edge.waits} if seen else {}


def _edges(rows: list[Any]) -> list[Running]:
    """Guests write the file: a row that says what cannot be is left out."""
    found = []
    for row in rows[:_MOST_EDGES]:
        name, seconds = (row.get("name"), row.get("s")) if isinstance(row, dict) else (None, None)
        if isinstance(name, str) and _is_number(seconds):
            name = name.encode("utf-8", "replace").decode("utf-8")[:_LONGEST_NAME]
            found.append(Running(name=name, seconds=float(seconds), waits=row.get("waits") is True))
    return found


def _count(said: dict[str, Any], key: str) -> int | None:
    value = said.get(key)
    return int(value) if _is_number(value) else None


def _is_number(value: Any) -> TypeGuard[float]:  # noqa: ANN401  any JSON value
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST


class LiveActivity:
    """Looks each second while the body runs, and tells what is news.

    Args:
        stage: whose.
        read: the file's text, or None.
        emit: gets the events, from a thread of ours.
    """

    def __init__(self, stage: str, read: Callable[[], str | None], emit: Callable[[Activity], None]) -> None:
        self._stage, self._read, self._emit = stage, read, emit
        self._last: Activity | None = None
        self._silent = _MOST_SILENT
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="activity", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(_LAST_LOOK_S)

    def look(self) -> None:
        """Look once, and tell if it is news, or if nothing was told for long."""
        self._silent += 1
        if self._silent < _LEAST_SILENT:
            return
        seen = parse_activity(self._stage, self._read())
        if seen is None and self._last is not None and self._last.running:
            seen = Activity(stage=self._stage)  # nothing runs any more, and that is news
        if seen is None or (not _is_news(seen, self._last) and self._silent < _MOST_SILENT):
            return
        self._last, self._silent = seen, 0
        self._emit(seen)

    def _follow(self) -> None:
        while not self._over.wait(_INTERVAL_S):
            with suppress(HostError):  # no build fails for want of a picture
                self.look()


def _is_news(seen: Activity, last: Activity | None) -> bool:
    """Other edges, or others that wait."""
    if last is None:
        return True
    before = [(edge.name, edge.waits) for edge in last.edges]
    return [(edge.name, edge.waits) for edge in seen.edges] != before or seen.waiting != last.waiting
