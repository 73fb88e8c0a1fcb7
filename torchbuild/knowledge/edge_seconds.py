"""What single edges take of time, as somebody measured: where an estimate starts."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts

__all__ = ["EdgeSeconds", "edge_seconds"]


class EdgeSeconds(Fact):
    """Edges of one kind."""

    pattern: str
    """Regular expression, found in the name of the output relative to the build tree; empty: any."""
    seconds: float
    """Where it is made, on one core."""
    hit: float
    """Where a compiler cache has it."""


def edge_seconds() -> tuple[EdgeSeconds, ...]:
    """The kinds that are known; the first that fits counts, and the last fits all."""
    return facts(EdgeSeconds, "edge_seconds", "edge")
