"""What edges took, kept for the next build: by output and compiler, not by tree or workspace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from torchbuild.report.cache_calls import Outcome
from torchbuild.report.expected import Expected
from torchbuild.report.ninja_log import LogEdge
from torchbuild.report.timeline import kind_of

__all__ = ["edge_times", "learned", "times_name"]

_FORMAT = 1
_MOST = 100_000
_LONGEST_S = 10 * 86_400.0
_COMPILED = ("object", "device")


def times_name(compiler: str, archs: Iterable[str]) -> str:
    """The file's name: what decides how long an edge takes, as far as a name of it does not."""
    said = "\n".join([compiler, *archs])
    return f"edge-times-{hashlib.sha256(said.encode()).hexdigest()[:16]}.json"


_NOTHING = Expected()


def edge_times(text: str | None, guesses: Expected = _NOTHING) -> Expected:
    """What is known; nothing is learned where the file is not there, damaged or another version's.

    Args:
        text: the file's.
        guesses: for what was not learned.
    """
    try:
        said = json.loads(text or "{}")
        if said.get("format") != _FORMAT:
            return guesses
        return replace(guesses, learned=_seconds(said["compiled"]), cached=_seconds(said["cached"]))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return guesses


def _seconds(said: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in list(said.items())[:_MOST]
        if isinstance(value, int | float) and 0 <= value <= _LONGEST_S
    }


def learned(
    before: Expected, edges: Iterable[LogEdge], outcomes: Mapping[str, Outcome], *, has_cache: bool
) -> str:
    """The file's next text: what was known, and what these edges took.

    Args:
        before: what was known.
        edges: that ran.
        outcomes: what the compiler's cache said of each.
        has_cache: whether it was asked: then an object of which it said nothing teaches nothing.
    """
    compiled, cached = dict(before.learned), dict(before.cached)
    for edge in edges:
        outcome = outcomes.get(edge.output)
        if outcome == "hit":
            _put(cached, edge)
        elif outcome == "miss" or not has_cache or kind_of(edge.output) not in _COMPILED:
            _put(compiled, edge)
    kept = {"format": _FORMAT, "compiled": compiled, "cached": cached}
    return json.dumps(kept, separators=(",", ":")) + "\n"


def _put(times: dict[str, float], edge: LogEdge) -> None:
    """At the end: where there are too many, what was seen longest ago goes."""
    times.pop(edge.output, None)
    times[edge.output] = round(edge.seconds, 3)
    while len(times) > _MOST:
        del times[next(iter(times))]
