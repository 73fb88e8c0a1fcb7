"""Programs that have other machines compile, and what is compiled here all the same."""

from __future__ import annotations

from typing import Literal

from torchbuild.knowledge.fact import Fact, facts

__all__ = ["DistributionEngine", "Stays", "distribution_engine", "what_stays"]


class DistributionEngine(Fact):
    """One such program."""

    name: str
    """As a recipe names it."""
    program: str
    """What stands before a compiler."""
    port: int
    """Where a machine of the pool listens, unless the recipe says."""
    scheduler: int
    """Where its scheduler listens; 0: it has none."""
    compilers: Literal["same", "shipped"]
    """Whether each machine must have our compilers, or is sent them."""
    package: str
    """Debian's package with the program."""


class Stays(Fact):
    """A kind of compile that is never sent."""

    word: str
    """The launcher's word for it."""
    what: str
    """In words, in the plural."""
    why: str
    """The reason, without a full stop."""


def distribution_engine(name: str) -> DistributionEngine:
    """The engine of that name; every one that a recipe may name has a row."""
    return next(row for row in facts(DistributionEngine, "distribution", "engine") if row.name == name)


def what_stays() -> tuple[Stays, ...]:
    """Every kind."""
    return facts(Stays, "distribution", "stays")
