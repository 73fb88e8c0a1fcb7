"""Judging what was seen of a part."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.model.finding import Finding
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.proof import Seen, Wanted, equal, judge, told

PART = LockedPart(name="cuda", provider="apt", version="12.4", prefix="/usr")


def agrees(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """One check."""
    yield equal("part-version", "version", str(seen.get("version", "")), part.version)


def test_each_check_is_told_in_order() -> None:
    """A table of checks is all that is looked at, and each says what it saw."""
    checks = {"agrees": agrees, "other": lambda *_: iter([told("part-other", "no file", "not run")])}

    found = judge(checks, PART, Wanted(), {"version": "12.0"})

    assert [item.outcome for item in found] == ["failed", "not run"]
    assert found[0].seen == "12.0"
    assert judge(checks, PART, Wanted(), {"version": "12.4"})[0].outcome == "passed"
