"""How checks say what they saw."""

from __future__ import annotations

from torchbuild.inspection.verdict import failed, not_run, settled, warned


def test_no_problem_is_passed() -> None:
    """A check without problems says what it saw."""
    (finding,) = settled("elf-x", [], what="fine", seen="3 files", wanted="all")

    assert (finding.outcome, finding.what, finding.seen, finding.wanted) == (
        "passed",
        "fine",
        "3 files",
        "all",
    )


def test_warnings_are_not_passed() -> None:
    """Where something was odd, the check does not say that all was well."""
    assert [finding.outcome for finding in settled("elf-x", [warned("elf-x", "odd")], what="fine")] == [
        "warned"
    ]


def test_failures_are_never_lost_in_the_tail() -> None:
    """However many warnings there are, a failure comes first; what is not shown is counted, by its worst."""
    many = [warned("elf-x", "odd")] * 30 + [failed("elf-x", "wrong")]

    shown = settled("elf-x", many, what="fine")

    assert (shown[0].outcome, len(shown)) == ("failed", 21)
    assert (shown[-1].outcome, shown[-1].what) == ("warned", "and 11 more of this kind")
    assert settled("elf-x", [failed("elf-x", "wrong")] * 30, what="fine")[-1].outcome == "failed"


def test_not_run_has_its_reason() -> None:
    """A check that did not happen says why."""
    assert (not_run("elf-x", "why").outcome, not_run("elf-x", "why").what) == ("not run", "why")
