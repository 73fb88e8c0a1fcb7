"""What one preflight saw, and the words in which all of them say it."""

from __future__ import annotations

from typing import Literal

from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.frozen import Frozen

__all__ = ["CONCERNS", "Blames", "Concern", "Preflight", "failed", "forbidden", "not_run", "passed", "warned"]

Blames = Literal["recipe", "host"]
Concern = Literal[
    "target", "toolkit", "libraries", "interpreter", "compilers", "engine", "space", "memory", "environment",
    "source",
]  # fmt: skip
CONCERNS: tuple[Concern, ...] = (
    "target", "toolkit", "libraries", "interpreter", "compilers", "engine", "space", "memory", "environment",
    "source",
)  # fmt: skip
"""In the order in which they are told."""


class Preflight(Frozen):
    """The outcome of one look, before anything is fetched."""

    reference: str
    """kebab-case, as ``torchbuild explain`` knows it."""
    outcome: Outcome
    """``not run`` is never ``passed``."""
    what: str
    """One line: what was looked at, and why not where it was not run."""
    seen: str = ""
    """What is there."""
    wanted: str = ""
    """What a build needs, with the fact's source where one decides."""
    fix: str = ""
    """One imperative action; empty where nothing is to be done."""
    is_fatal: bool = False
    """Whether a build refuses to begin while it is so."""
    blames: Blames = "recipe"
    """Who must act: the recipe's author or the machine's owner."""

    def finding(self) -> Finding:
        """As a report of a run keeps it."""
        return Finding(
            reference=self.reference,
            outcome=self.outcome,
            what=self.what,
            seen=self.seen,
            wanted=self.wanted,
        )


def passed(reference: str, what: str, *, seen: str = "", wanted: str = "") -> Preflight:
    """It is as it must be."""
    return Preflight(reference=reference, outcome="passed", what=what, seen=seen, wanted=wanted)


def not_run(reference: str, what: str, *, seen: str = "", fix: str = "") -> Preflight:
    """Nobody could look; `what` ends with the reason."""
    return Preflight(reference=reference, outcome="not run", what=what, seen=seen, fix=fix)


def warned(
    reference: str, what: str, *, seen: str, wanted: str = "", fix: str = "", blames: Blames = "host"
) -> Preflight:
    """A build may fail of it, or somebody's next step will."""
    return Preflight(
        reference=reference, outcome="warned", what=what, seen=seen, wanted=wanted, fix=fix, blames=blames
    )


def failed(
    reference: str,
    what: str,
    *,
    seen: str,
    wanted: str,
    fix: str,
    blames: Blames = "host",
    is_fatal: bool = True,
) -> Preflight:
    """A build would fail of it."""
    return Preflight(
        reference=reference,
        outcome="failed",
        what=what,
        seen=seen,
        wanted=wanted,
        fix=fix,
        blames=blames,
        is_fatal=is_fatal,
    )


def forbidden(
    reference: str, what: str, *, is_confirmed: bool, seen: str, wanted: str, fix: str
) -> Preflight:
    """The facts speak against the recipe: a failure where somebody confirmed them, else a suspicion."""
    if is_confirmed:
        return failed(reference, what, seen=seen, wanted=wanted, fix=fix, blames="recipe")
    told = f"{what}; nobody confirmed it"
    return warned(reference, told, seen=seen, wanted=wanted, fix=fix, blames="recipe")
