"""What a check says: the fields of `torchbuild.model.finding.Finding`, as plain dictionaries."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["Finding", "failed", "one_line", "passed", "skipped", "within"]

_LONGEST = 500


class Finding(TypedDict):
    """The outcome of one look."""

    reference: str
    """kebab-case name, stable."""
    outcome: str
    """``passed``, ``failed`` or ``not run``."""
    what: str
    """What was looked at; the reason where it was not run."""
    seen: str
    """The value found, with its numbers."""
    wanted: str
    """The value or the bound asked for."""


def passed(reference: str, what: str, seen: object = "", wanted: object = "") -> Finding:
    """It is as it should be."""
    return _finding(reference, "passed", what, seen, wanted)


def failed(reference: str, what: str, seen: object = "", wanted: object = "") -> Finding:
    """It is not."""
    return _finding(reference, "failed", what, seen, wanted)


def skipped(reference: str, why: str) -> Finding:
    """It could not be looked at. Never the same as `passed`."""
    return _finding(reference, "not run", why, "", "")


def within(reference: str, what: str, error: float, bound: float) -> Finding:
    """`passed` where `error` is at most `bound`; an error that is no number fails."""
    judge = passed if error <= bound else failed
    return judge(reference, what, "error {:.3e}".format(error), "at most {:.3e}".format(bound))


def one_line(error: BaseException) -> str:
    """An exception as one line of bounded length."""
    return " ".join("{}: {}".format(type(error).__name__, error).split())[:_LONGEST]


def _finding(reference: str, outcome: str, what: str, seen: object, wanted: object) -> Finding:
    return Finding(
        reference=reference, outcome=outcome, what=_clean(what), seen=_clean(seen), wanted=_clean(wanted)
    )


def _clean(value: object) -> str:
    """Text that any JSON reader takes: lone surrogates become escapes."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")
