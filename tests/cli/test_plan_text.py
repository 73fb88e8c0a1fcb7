"""Plans as text and as JSON."""

from __future__ import annotations

import json

from torchbuild.cli.plan_text import plan_json, plan_text
from torchbuild.model.lock import Lock
from torchbuild.pipeline import STAGES, keys, plan_all


def test_every_stage_and_every_command_is_there(lock: Lock) -> None:
    """What will run can be read before it runs, with the exact paths."""
    plans = plan_all(lock)
    text = plan_text([(item, keys(plans)[item.stage]) for item in plans])

    assert [line.split()[2] for line in text.splitlines() if line.startswith("# == ")] == [
        item.name for item in STAGES
    ]
    assert text.count("env -i") == sum(len(item.commands) for item in plans)
    assert "{venv}" not in "".join(line for line in text.splitlines() if not line.startswith("#"))


def test_a_program_gets_every_field(lock: Lock) -> None:
    """The JSON form holds keys, needs and commands of each stage, and nothing that JSON cannot carry."""
    plans = plan_all(lock)
    value = json.loads(json.dumps(plan_json([(item, keys(plans)[item.stage]) for item in plans])))

    assert [item["stage"] for item in value] == [item.name for item in STAGES]
    assert all(set(item) >= {"key", "needs", "makes", "commands"} for item in value)
    assert "{work}" not in json.dumps([item["commands"] for item in value])


def test_the_same_lock_gives_the_same_text(lock: Lock) -> None:
    """Two plans can be compared by a tool that compares texts."""
    plans = plan_all(lock)
    whole = keys(plans)

    assert plan_text([(item, whole[item.stage]) for item in plans]) == plan_text(
        [(item, whole[item.stage]) for item in plan_all(lock)]
    )
