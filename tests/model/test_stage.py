"""Keys of stages."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.model.lock import Lock
from torchbuild.model.stage import lock_part, stage_key


def test_the_same_work_has_the_same_key() -> None:
    """The order in which a table was made does not matter to what was done."""
    assert stage_key("a", 1, {"x": 1, "y": 2}) == stage_key("a", 1, {"y": 2, "x": 1})


@pytest.mark.parametrize(
    "arguments",
    [
        ("b", 1, {"x": 1}),
        ("a", 2, {"x": 1}),
        ("a", 1, {"x": 2}),
        ("a", 1, {"x": "1"}),
        ("a", 1, {"x": 1}, "k"),
    ],
    ids=["stage", "revision", "value", "type", "stage before"],
)
def test_other_work_has_another_key(arguments: tuple[Any, ...]) -> None:
    """Whatever decides the outcome is in the key: work is never taken for done that was not."""
    assert stage_key(*arguments) != stage_key("a", 1, {"x": 1})


def test_a_part_holds_what_it_names(lock_table: dict[str, Any]) -> None:
    """A stage's key depends on its own part of the lock and on nothing else."""
    lock = Lock.model_validate(lock_table)

    assert lock_part(lock, "epoch", "cc") == {"epoch": 1_700_000_000, "cc": "/usr/bin/gcc"}
    assert lock_part(lock, "cc", "epoch") == lock_part(lock, "epoch", "cc")


def test_a_misspelt_part_is_an_error(lock_table: dict[str, Any]) -> None:
    """A name that is no field cannot quietly leave something out of a key."""
    with pytest.raises(KeyError, match="compilr"):
        lock_part(Lock.model_validate(lock_table), "compilr")
