"""What the shim saw while ninja worked: memory, running edges and tokens, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["Sample", "parse_samples"]

_MOST = 100_000
_LARGEST = 2**60
_LONGEST_LINE = 500


class Sample(NamedTuple):
    """One look."""

    at_ms: int
    """When, since 1970."""
    memory: int
    """Bytes that no file backs, of all processes of the build together."""
    running: int | None
    """Edges that ran; None where nobody could tell."""
    tokens: int | None
    """Jobs that were allowed; None where nobody managed them."""
    waiting: int | None
    """Compilers that waited for memory; None as above."""


def parse_samples(text: str) -> tuple[Sample, ...]:
    """All of them by time; lines that are cut off or say what cannot be are passed over."""
    return tuple(sorted(_samples(text), key=lambda sample: sample.at_ms))


def _samples(text: str) -> Iterator[Sample]:
    for line in text.split("\n")[:_MOST]:
        if not 0 < len(line) <= _LONGEST_LINE:
            continue
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(said, dict):
            continue
        at, memory = _count(said.get("t"), 1000), _count(said.get("memory"))
        if at is not None and memory is not None:
            counts = (_count(said.get(key)) for key in ("running", "tokens", "waiting"))
            yield Sample(at, memory, *counts)


def _count(value: Any, scale: int = 1) -> int | None:  # noqa: ANN401  any JSON value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # what is not a number compares with nothing
    return int(value * scale) if is_number and 0 <= value <= _LARGEST else None
