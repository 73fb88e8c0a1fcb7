"""A timeline's figures for a program. The edges themselves are in the trace."""

from __future__ import annotations

from typing import Any

from torchbuild.report.timeline import Span, Timeline, by_folder

__all__ = ["timeline_json"]

_DIGITS = 3


def timeline_json(timeline: Timeline) -> dict[str, Any]:
    """Values that JSON has."""
    return {
        "edges": len(timeline.spans),
        "runs": [
            {"edges": run.edges, "seconds": round(run.end - run.start, _DIGITS), "began_ms": run.began_ms}
            for run in timeline.runs
        ],
        "seconds": round(timeline.seconds, _DIGITS),
        "busy_seconds": round(timeline.busy, _DIGITS),
        "slots": timeline.slots,
        "peak_memory_bytes": timeline.peak_memory,
        "cache": dict(timeline.calls),
        "longest_from": timeline.longest_from,
        "longest": [_edge(timeline.spans[number]) for number in timeline.longest],
        "slowest": [_edge(span) for span in timeline.slowest()],
        "folders": [row._asdict() | {"seconds": round(row.seconds, _DIGITS)} for row in by_folder(timeline)],
        "ignored_lines": timeline.ignored,
    }


def _edge(span: Span) -> dict[str, Any]:
    return {"output": span.output, "seconds": round(span.seconds, _DIGITS), "cache": span.outcome}
