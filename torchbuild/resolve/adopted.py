"""Options that nobody could tell before CMake ran: found by a run, looked at by a person, then expected."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchbuild.errors import UsageError
from torchbuild.model.finding import Finding
from torchbuild.model.lock import Expectation, Lock

__all__ = ["adopt", "adopted", "keep_adopted"]

REFERENCE = "gate-adopted"
_UNEXPECTED = "gate-unexpected"
_SEEN = re.compile(r"(ON|OFF): (.*) \((\w+)\)", re.DOTALL)
"""State, value and type of an entry, as the gate shows them."""


def adopted(lock: Lock) -> tuple[Expectation, ...]:
    """The rows of a lock that were adopted."""
    return tuple(item for item in lock.expect if item.reference == REFERENCE)


def adopt(lock: Lock, findings: Iterable[Finding], run: str) -> Lock:
    """The lock with what a run's gate found and nobody expected.

    What was expected and is another is not adopted: that is for the recipe to say.

    Args:
        lock: what the run was made from.
        findings: what its gate saw.
        run: its name.

    Raises:
        UsageError: ``nothing-to-adopt``.
    """
    rows = tuple(
        _row(item, run) for item in findings if item.reference == _UNEXPECTED and item.outcome == "failed"
    )
    if not rows:
        raise UsageError(
            "nothing-to-adopt",
            f"the gate of run {run} met nothing that nobody expected",
            why="wanted a run that ended with gate-unexpected",
            fix="Run `torchbuild build RECIPE --until configure` first: what it calls unexpected is adopted.",
        )
    return _with(lock, rows)


def keep_adopted(before: Lock | None, made: Lock) -> Lock:
    """A lock that is made anew keeps what was adopted, while the tree and its patches are the same."""
    if before is None or before.source != made.source:
        return made
    named = {item.key for item in made.expect}
    return _with(made, tuple(item for item in adopted(before) if item.key not in named))


def _with(lock: Lock, rows: tuple[Expectation, ...]) -> Lock:
    expect = tuple(sorted((*lock.expect, *rows), key=lambda item: (item.key, item.reference)))
    return lock.model_copy(update={"expect": expect})


def _row(finding: Finding, run: str) -> Expectation:
    name, why = finding.what.partition(" ")[0], f"adopted: found by run {run}"
    seen = _SEEN.fullmatch(finding.seen)
    state, value, kind = seen.groups() if seen else ("OFF", "", "BOOL")
    if kind not in ("BOOL", "INTERNAL", "STATIC", "UNINITIALIZED"):
        return Expectation(reference=REFERENCE, key=name, kind="exact", value=value, why=why)
    return Expectation(reference=REFERENCE, key=name, kind="switch", value=state, why=why)
