"""What single compilers take of memory, as somebody measured or told: where a build starts, never a limit."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts

__all__ = ["HeavyEdge", "heavy_edges", "other_edges"]


class HeavyEdge(Fact):
    """Compiles of one kind."""

    pattern: str
    """Regular expression, found in the name of the output relative to the build tree; empty: any."""
    program: str
    """Regular expression, found in the file name of the compiler; empty: any."""
    gb: float
    """GB at the most, for each thread of the compiler."""


def heavy_edges() -> tuple[HeavyEdge, ...]:
    """The kinds that are known; the first that fits counts."""
    return facts(HeavyEdge, "heavy_edges", "edge")


def other_edges() -> HeavyEdge:
    """All that no other row fits: the last one."""
    return heavy_edges()[-1]
