"""What builds of torch have taken: processor hours, space, memory. Each row says who measured."""

from __future__ import annotations

from typing import Literal

from torchbuild.knowledge.fact import Fact, facts

__all__ = ["Cost", "FilesCost", "MemoryCost", "job_cost", "space_cost", "space_fact", "time_cost"]

Kind = Literal["cpu", "cuda"]


class Cost(Fact):
    """A time or a space."""

    kind: Kind
    """For the CPU alone, or with CUDA."""
    archs: int
    """GPU architectures of that build; 0 for none."""
    amount: float
    """Processor hours, or GB."""


class MemoryCost(Fact):
    """What one compiler takes at most."""

    kind: Kind
    """As in `Cost`."""
    what: str
    """Which one."""
    unless_off: tuple[str, ...]
    """Options without which it is not compiled: it counts unless all of them are off; empty: always."""
    gb: float
    """GB."""


class FilesCost(Fact):
    """A count of files."""

    name: str
    """Of what."""
    least: float
    """How many at least."""


def time_cost(kind: Kind) -> Cost:
    """The least that somebody measured."""
    rows = [row for row in facts(Cost, "build_costs", "time") if row.kind == kind]
    return min(rows, key=lambda row: row.amount)


def space_cost(kind: Kind, archs: int) -> tuple[Cost, Cost]:
    """The rows on both sides of a number of architectures; twice the same at either end."""
    rows = sorted(
        (row for row in facts(Cost, "build_costs", "space") if row.kind == kind), key=lambda row: row.archs
    )
    below = [row for row in rows if row.archs <= archs] or rows[:1]
    above = [row for row in rows if row.archs >= archs] or rows[-1:]
    return below[-1], above[0]


def job_cost(kind: Kind, off: frozenset[str]) -> MemoryCost:
    """The largest compiler of a build in which these options are off."""
    rows = [row for row in facts(MemoryCost, "build_costs", "memory") if row.kind == kind]
    there = [row for row in rows if not row.unless_off or not off.issuperset(row.unless_off)]
    return max(there or rows, key=lambda row: row.gb)


def space_fact(name: str) -> FilesCost | None:
    """A count; None where nobody counted."""
    return next((row for row in facts(FilesCost, "build_costs", "count") if row.name == name), None)
