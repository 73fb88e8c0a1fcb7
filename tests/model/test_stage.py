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


def test_each_leaf_of_a_key_is_a_part_with_a_name() -> None:
    """A change is told as the field, and for a row of a list as the row, in which it is."""
    inputs = {"environ": {"CC": "gcc"}, "expect": [{"key": "USE_A", "value": "ON"}], "require": ["a"]}

    assert set(stage_key("a", 3, inputs).parts) == {"revision", "environ.CC", "expect.USE_A", "require"}
    assert stage_key("a", 3, inputs).parts["revision"] == "3"
    assert set(stage_key("a", 1, None).parts) == {"revision"}


def changed(old: Any, new: Any) -> set[str]:
    """Parts that differ between two inputs."""
    then, now = stage_key("a", 1, old).parts, stage_key("a", 1, new).parts
    return {name for name in {*then, *now} if then.get(name) != now.get(name)}


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ([{"key": "A", "v": 1}, {"key": "B"}], [{"key": "A", "v": 2}, {"key": "B"}], {"x.A"}),
        ([{"key": "A"}], [{"key": "A"}, {"key": "B"}], {"x.B"}),
        ([{"key": "A", "v": 1}, {"key": "A", "v": 2}], [{"key": "A", "v": 1}], {"x.A"}),
        ([{"path": "p", "commit": "1"}], [{"path": "p", "commit": "2"}], {"x.p"}),
        ([{"key": "A"}, {"key": 1}], [{"key": "A"}], {"x", "x.A"}),
        ([1, 2], [2, 1], {"x"}),
        ([], [{"key": "A"}], {"x", "x.A"}),
    ],
)
def test_a_row_of_a_list_is_known_by_its_name(old: Any, new: Any, parts: set[str]) -> None:
    """Of hundreds of expectations the one that changed is named; what has no names is one part."""
    assert changed({"x": old}, {"x": new}) == parts


def test_a_part_holds_what_it_names(lock_table: dict[str, Any]) -> None:
    """A stage's key depends on its own part of the lock and on nothing else."""
    lock = Lock.model_validate(lock_table)

    assert lock_part(lock, "epoch", "cc") == {"epoch": 1_700_000_000, "cc": "/usr/bin/gcc"}
    assert lock_part(lock, "cc", "epoch") == lock_part(lock, "epoch", "cc")


def test_a_misspelt_part_is_an_error(lock_table: dict[str, Any]) -> None:
    """A name that is no field cannot quietly leave something out of a key."""
    with pytest.raises(KeyError, match="compilr"):
        lock_part(Lock.model_validate(lock_table), "compilr")
