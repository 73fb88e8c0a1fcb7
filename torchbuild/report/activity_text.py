"""What goes on at this moment, as words: jobs, memory, cache, and the edges that run."""

from __future__ import annotations

from torchbuild.report.events import Activity, Running
from torchbuild.report.text import duration, printable, size

__all__ = ["edge_text", "facts_text", "now_text"]

_LONGEST_NAME = 60
_IN_A_LINE = 3
_TOLD_S = 1.0


def facts_text(activity: Activity) -> str:
    """What is known of: ``2 of 2 jobs, 3 wait for memory, 9.8 GiB of 24.0 GiB, cache 402 of 431``."""
    parts = []
    if activity.jobs:
        parts.append(f"{activity.tokens or 0} of {activity.jobs} jobs")
    if activity.waiting:
        parts.append(f"{activity.waiting} wait{'s' if activity.waiting == 1 else ''} for memory")
    if activity.memory is not None and activity.memory_total:
        parts.append(f"{size(activity.memory)} of {size(activity.memory_total)}")
    if activity.cache_calls:
        parts.append(f"cache {activity.cache_hits or 0} of {activity.cache_calls}")
    return ", ".join(parts)


def edge_text(edge: Running, since: float = 0.0, most: int = _LONGEST_NAME) -> str:
    """Such as ``41.0 s  RegisterCPU.cpp.o``.

    Args:
        edge: that runs.
        since: seconds since it was looked at.
        most: characters of its name.
    """
    took = "waits" if edge.waits else duration(edge.seconds + since)
    return f"{took:>11}  {_name(edge, most)}"


def now_text(activity: Activity) -> str:
    """The edges that run, in one line: those that run longest."""
    shown = [_name(edge, _LONGEST_NAME) + _time(edge) for edge in activity.edges[:_IN_A_LINE]]
    more = activity.running - len(shown)
    return ", ".join(shown) + (f" and {more} more" if shown and more > 0 else "")


def _time(edge: Running) -> str:
    """Of what has just begun there is none to tell."""
    if edge.waits:
        return " (waits)"
    return f" ({duration(edge.seconds)})" if edge.seconds >= _TOLD_S else ""


def _name(edge: Running, most: int) -> str:
    """Of a long path the end says most: the file's name, and of that its end."""
    name = printable(edge.name)
    short = name if len(name) <= most else name.rstrip("/").rpartition("/")[2]
    return short if len(short) <= most else short[: max(most // 2, 1)] + "…" + short[-max(most // 2 - 1, 1) :]
