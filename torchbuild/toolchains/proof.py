"""The contract of a proof: what was seen of a part inside the builder, judged check by check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.frozen import Frozen
from torchbuild.model.part import LockedPart

__all__ = [
    "Check",
    "Checks",
    "Seen",
    "Wanted",
    "equal",
    "judge",
    "lines",
    "none_of",
    "number",
    "rows",
    "table",
    "text",
    "told",
]

_MOST = 800
"""Characters of a finding's text: what a guest printed may have megabytes."""
_LARGEST = 1 << 63
"""Bytes, exit codes and counts are below; what is not is no number that anybody measured."""

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


def none_of(reference: str, what: str, found: tuple[str, ...] | None, bad: Outcome = "failed") -> Finding:
    """Passed where a list is empty, `bad` where it is not; ``not run`` where nobody made one."""
    if found is None:
        return told(reference, f"{what}: nobody looked", "not run")
    outcome: Outcome = bad if found else "passed"
    return told(reference, what, outcome, seen=", ".join(found) or "none", wanted="none")


def told(reference: str, what: str, outcome: Outcome, *, seen: str = "", wanted: str = "") -> Finding:
    """A finding, its texts cut to what people read; `what` carries the reason where it is ``not run``."""
    one_line = " ".join(_clipped(what).splitlines())
    return Finding(
        reference=reference, outcome=outcome, what=one_line, seen=_clipped(seen), wanted=_clipped(wanted)
    )


def _clipped(words: str) -> str:
    """The beginning and the end, where causes stand. JSON can hold halves of characters: they are marked."""
    short = words if len(words) <= _MOST else f"{words[: _MOST // 2]} ... {words[-_MOST // 2 :]}"
    return short.encode("utf-8", "replace").decode("utf-8")


def text(seen: Mapping[str, Any], key: str) -> str:
    """The string at a key; empty for anything else."""
    value = seen.get(key)
    return value if isinstance(value, str) else ""


def number(value: object) -> int | None:
    """A whole number; None for anything else, truth values and what nobody can have counted included."""
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= _LARGEST:
        return None
    return value


def table(seen: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The table at a key; an empty one for anything else."""
    value = seen.get(key)
    return value if isinstance(value, Mapping) else {}


def rows(seen: Mapping[str, Any], key: str) -> Mapping[str, Mapping[str, Any]]:
    """The table of tables at a key; what is none in it stands as an empty one, which is seen and fails."""
    return {str(name): row if isinstance(row, Mapping) else {} for name, row in table(seen, key).items()}


def lines(seen: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    """The strings at a key; None where there is no list, or one that holds anything else."""
    value = seen.get(key)
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(value)
