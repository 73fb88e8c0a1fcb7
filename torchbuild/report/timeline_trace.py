"""A timeline as a Chrome trace: JSON that about:tracing, Perfetto and others open."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from torchbuild.report.text import printable
from torchbuild.report.timeline import Timeline

__all__ = ["timeline_trace"]

_NINJA = 1
_US = 1_000_000


def timeline_trace(timeline: Timeline) -> str:
    """The trace's text. Slots are threads of one process; memory and running edges are counters of it."""
    document = {
        "displayTimeUnit": "ms",
        "otherData": {"title": printable(timeline.title), "longest-way": timeline.longest_from},
        "traceEvents": list(_events(timeline)),
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def _events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    yield _named("process_name", 0, printable(timeline.title))
    for slot in range(timeline.slots):
        yield _named("thread_name", slot + 1, f"slot {slot + 1}")
    way = set(timeline.longest)
    for number, span in enumerate(timeline.spans):
        told: dict[str, Any] = {"run": span.run + 1}
        if span.outcome is not None:
            told["cache"] = span.outcome
        if number in way:
            told["longest way"] = True
        yield {
            "name": printable(span.output),
            "cat": span.kind,
            "ph": "X",
            "pid": _NINJA,
            "tid": span.slot + 1,
            "ts": round(span.start * _US),
            "dur": round(span.seconds * _US),
            "args": told,
        }
    for point in timeline.points:
        at = {"ph": "C", "pid": _NINJA, "ts": round(point.at * _US)}
        yield {**at, "name": "memory", "args": {"bytes": point.sample.memory}}
        counts = {
            "running": point.sample.running,
            "tokens": point.sample.tokens,
            "waiting": point.sample.waiting,
        }
        yield {
            **at,
            "name": "edges",
            "args": {key: value for key, value in counts.items() if value is not None},
        }


def _named(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": _NINJA, "tid": thread, "args": {"name": name}}
