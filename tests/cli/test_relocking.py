"""Locks that are written again: what was looked at once is not asked again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torchbuild.cli.running import run_name
from torchbuild.resolve.adopted import adopted
from torchbuild.resolve.lockfile import dump_lock, parse_lock

FOUND = {
    "reference": "gate-unexpected",
    "outcome": "failed",
    "what": "USE_NEW (nobody expected it)",
    "seen": "ON: 1 (BOOL)",
    "wanted": "an expectation for each entry",
}


def lock_of(desk: Any, suffix: str = ".lock") -> Any:
    """The lock beside the recipe."""
    path: Path = desk.recipe.with_suffix(suffix)
    return parse_lock(path.read_text(encoding="utf-8"), str(path))


def leave_gate(desk: Any, *findings: dict[str, str], run: str = "") -> None:
    """What a run of this lock leaves when its gate refuses."""
    shim = desk.places.builds / (run or run_name(lock_of(desk))) / "root" / "shim"
    shim.mkdir(parents=True)
    (shim / "gate.json").write_text(json.dumps({"findings": findings}), encoding="utf-8")


def test_what_the_last_run_found_is_taken_into_the_lock(desk: Any) -> None:
    """With the name, the state and the run, for whoever reviews it; the lock is whole and fresh afterwards."""
    desk.lock()
    leave_gate(desk, FOUND)

    ended = desk.run("lock", desk.recipe, "--adopt", "--json")

    assert ended.code == 0, ended.err
    (row,) = adopted(lock_of(desk))
    assert (row.key, row.value) == ("USE_NEW", "ON")
    assert "USE_NEW" in ended.err
    assert desk.run("lock", desk.recipe, "--check").code == 0


def test_without_such_a_run_nothing_is_adopted(desk: Any) -> None:
    """The lock stays as it is, and the error says what to run first."""
    desk.lock()
    before = desk.recipe.with_suffix(".lock").read_bytes()

    ended = desk.run("lock", desk.recipe, "--adopt", "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (2, "nothing-to-adopt")
    assert "--until configure" in ended.json["error"]["fix"]
    assert desk.recipe.with_suffix(".lock").read_bytes() == before


def test_what_a_dev_build_found_is_taken_into_its_own_lock(desk: Any) -> None:
    """A dev build has another lock and another workspace: the other lock stays as it is."""
    plain = dump_lock(desk.lock())
    desk.lock(is_dev=True)
    leave_gate(desk, FOUND, run="tiny-dev")

    ended = desk.run("lock", desk.recipe, "--adopt", "--dev", "--json")

    assert ended.code == 0, ended.err
    assert ended.json["lock"] == str(desk.recipe.with_suffix(".dev.lock"))
    (row,) = adopted(lock_of(desk, ".dev.lock"))
    assert (row.key, row.why) == ("USE_NEW", "adopted: found by run tiny-dev")
    assert dump_lock(lock_of(desk)) == plain
    assert desk.run("lock", desk.recipe, "--check", "--dev").code == 0


def test_without_a_dev_run_the_error_says_which_to_run(desk: Any) -> None:
    """The run of a plain build does not help a lock of dev builds."""
    desk.lock(is_dev=True)

    ended = desk.run("lock", desk.recipe, "--adopt", "--dev", "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (2, "nothing-to-adopt")
    assert "torchbuild build --dev RECIPE --until configure" in ended.json["error"]["fix"]
