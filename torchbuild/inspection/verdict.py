"""How a check says what it saw: every problem up to a limit, or one `passed`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from torchbuild.inspection.text import shown
from torchbuild.model.finding import Finding

__all__ = ["failed", "not_run", "settled", "warned"]

_SHOWN = 20
_COUNTED = 100_000


def failed(reference: str, what: str, *, seen: str = "", wanted: str = "") -> Finding:
    """A finding that ends the build; foreign text in it is escaped."""
    return Finding(
        reference=reference, outcome="failed", what=shown(what), seen=shown(seen), wanted=shown(wanted)
    )


def warned(reference: str, what: str, *, seen: str = "", wanted: str = "") -> Finding:
    """A finding that a person should know and that ends nothing."""
    return Finding(
        reference=reference, outcome="warned", what=shown(what), seen=shown(seen), wanted=shown(wanted)
    )


def not_run(reference: str, why: str) -> Finding:
    """The check did not happen; `why` is the reason."""
    return Finding(reference=reference, outcome="not run", what=shown(why))


def settled(
    reference: str, problems: Iterable[Finding], *, what: str, seen: str = "", wanted: str = ""
) -> tuple[Finding, ...]:
    """The problems, failures first and the long tail counted; `passed` with `what` where there are none."""
    found = list(islice(problems, _COUNTED))
    if not found:
        good = Finding(
            reference=reference, outcome="passed", what=what, seen=shown(seen), wanted=shown(wanted)
        )
        return (good,)
    found.sort(key=lambda finding: finding.outcome != "failed")
    if len(found) <= _SHOWN:
        return tuple(found)
    more = len(found) - _SHOWN
    outcome = found[_SHOWN].outcome
    rest = Finding(reference=reference, outcome=outcome, what=f"and {more} more of this kind")
    return (*found[:_SHOWN], rest)
