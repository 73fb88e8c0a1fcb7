"""The contract of a proof: what was seen of a part inside the builder, judged check by check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.frozen import Frozen
from torchbuild.model.part import LockedPart

__all__ = ["Check", "Checks", "Seen", "Wanted", "equal", "judge", "told"]

Seen = Mapping[str, Any]
"""What the guest script of the part printed, as JSON values. What it could not look at is absent or empty."""


class Wanted(Frozen):
    """What a part is compared with, besides what it is itself."""

    archs: tuple[str, ...] = ()
    """GPU architectures of the recipe, such as ``9.0a`` or ``8.6+PTX``."""
    cxx: str = ""
    """The host C++ compiler, absolute inside the builder."""
    standard: str = "17"
    """The C++ standard that the tree asks for."""
    torch: str = ""
    """Public version of the wheel, such as ``2.6.0``."""
    machine: str = "x86_64"
    """Processor family of the target."""
    cuda: str = ""
    """Release of the toolkit, ``12.4``; empty for a CPU build."""


Check = Callable[[LockedPart, Wanted, Seen], Iterator[Finding]]
Checks = Mapping[str, Check]
"""By name. A part's module has one such table, ``CHECKS``: what is not in it is not looked at."""


def judge(checks: Checks, part: LockedPart, wanted: Wanted, seen: Seen) -> tuple[Finding, ...]:
    """All findings, in the order of the table."""
    return tuple(finding for check in checks.values() for finding in check(part, wanted, seen))


def equal(reference: str, what: str, seen: str, wanted: str) -> Finding:
    """Passed where both are the same, else failed."""
    return told(reference, what, "passed" if seen == wanted else "failed", seen=seen, wanted=wanted)


def told(reference: str, what: str, outcome: Outcome, *, seen: str = "", wanted: str = "") -> Finding:
    """A finding; `what` carries the reason where it is ``not run``."""
    return Finding(reference=reference, outcome=outcome, what=what, seen=seen, wanted=wanted)
