"""Judging what was seen of a part."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.model.finding import Finding
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.proof import (
    Seen,
    Wanted,
    equal,
    judge,
    lines,
    none_of,
    number,
    rows,
    table,
    text,
    told,
)

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


def test_texts_are_short_and_can_be_written() -> None:
    """The beginning and the end of megabytes; half a character of JSON is no crash; one line says what it is."""
    found = told("part-text", "first\nsecond", "failed", seen="a" + "x" * 5_000_000 + "z", wanted="\ud800")

    assert (found.what, found.wanted) == ("first second", "?")
    assert found.seen.startswith("axx")
    assert found.seen.endswith("xxz")
    assert len(found.seen) < 1000


def test_readers_take_nothing_for_something() -> None:
    """A truth value is no number, a number no string, a list of anything else no list of strings."""
    seen = {"text": 7, "list": ["a", 1], "rows": {"a": 3}, "table": []}

    assert (text(seen, "text"), text(seen, "gone")) == ("", "")
    assert (number(value=True), number(10**400), number(1.0), number(7)) == (None, None, None, 7)
    assert (lines(seen, "list"), lines({"list": []}, "list"), lines(seen, "gone")) == (None, (), None)
    assert (rows(seen, "rows"), table(seen, "table")) == ({"a": {}}, {})


def test_a_list_that_should_be_empty_has_three_outcomes() -> None:
    """Empty passes, filled is as bad as the check says, and a list that nobody made passes nothing."""
    assert none_of("part-left", "remains", ()).outcome == "passed"
    assert none_of("part-left", "remains", ("a", "b")).outcome == "failed"
    assert none_of("part-left", "remains", ("a", "b")).seen == "a, b"
    assert none_of("part-left", "remains", ("a",), "warned").outcome == "warned"
    unseen = none_of("part-left", "remains", None)
    assert (unseen.outcome, unseen.what) == ("not run", "remains: nobody looked")
