"""The preflights of a build: made once, before the first thing that costs anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.cli.places import Places
from torchbuild.model.finding import Finding
from torchbuild.model.recipe import Recipe

if TYPE_CHECKING:
    from torchbuild.model.lock import Lock
    from torchbuild.preflight.outcome import Preflight

__all__ = ["Gate"]

_LATE = ("package", "verify", "publish")
"""Stages that fetch nothing and compile nothing."""


@dataclass(kw_only=True)
class Gate:
    """The preflights of one build: made once, before the first thing that costs anything."""

    recipe: Recipe
    """What is to be built."""
    here: Places
    """Where torchbuild keeps things."""
    recipe_dir: Path
    """The recipe's folder."""
    out: Path
    """Where the wheel will be laid."""
    despite: tuple[str, ...] = ()
    """References that the build goes on in spite of."""
    found: tuple[Preflight, ...] | None = field(default=None, init=False)
    """What they saw; None as long as nothing needed them."""

    def check(self, lock: Lock | None = None) -> None:
        """Refuse where something would fail; later calls do nothing.

        Raises:
            ConflictError: ``preflight-refused-recipe``.
            HostError: ``preflight-refused-machine``.
        """
        if self.found is not None:
            return
        from torchbuild.cli.preflighting import case_of  # noqa: PLC0415  a build with nothing to do does without
        from torchbuild.preflight.checks import in_the_way, preflights, refusal  # noqa: PLC0415

        case = case_of(self.recipe, self.here, recipe_dir=self.recipe_dir, out=self.out, lock=lock)
        by_concern = preflights(case)
        self.found = tuple(item for rows in by_concern.values() for item in rows)
        wrong = in_the_way(by_concern, self.despite)
        if wrong:
            raise refusal(wrong)

    def before_stage(self, stage: str, lock: Lock) -> None:
        """The same, where that stage is about to run and is one that costs something."""
        if stage not in _LATE:
            self.check(lock)

    def findings(self) -> tuple[Finding, ...]:
        """What they saw, as a report keeps it; nothing where they were not needed."""
        return tuple(item.finding() for item in self.found or ())

    def overridden(self) -> tuple[str, ...]:
        """What failed and the build goes on in spite of, a line each."""
        return tuple(
            f"{item.reference}: {item.what}: seen {item.seen}, wanted {item.wanted}"
            for item in self.found or ()
            if item.outcome == "failed" and item.reference in self.despite
        )
