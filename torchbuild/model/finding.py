"""The outcome of one check. There is no way to be silent: `not run` carries its reason."""

from __future__ import annotations

from typing import Literal

from torchbuild.model.frozen import Frozen

__all__ = ["Finding", "Outcome", "failures", "reasons"]

Outcome = Literal["passed", "failed", "warned", "not run"]


class Finding(Frozen):
    """What one check saw."""

    reference: str
    """kebab-case name of the check, unique and stable."""
    outcome: Outcome
    """``not run`` is never ``passed``."""
    what: str
    """One line: the thing that was looked at, and the reason where it was not run."""
    seen: str = ""
    """The value found."""
    wanted: str = ""
    """The value the lock asks for."""


def failures(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Those that failed, in order."""
    return tuple(finding for finding in findings if finding.outcome == "failed")


def reasons(wrong: tuple[Finding, ...]) -> tuple[str, ...]:
    """What an error says of findings that failed: one line each, with the name that ``explain`` knows."""
    return tuple(f"[{item.reference}] {item.what}: seen {item.seen}, wanted {item.wanted}" for item in wrong)
