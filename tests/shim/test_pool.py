"""Machines that compile for this one, on paper: seconds are given, and no machine is asked."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.shim.pool import Pool


def pool(*slots: int) -> Pool:
    """Machines a, b, c … with so many slots."""
    hosts: list[dict[str, Any]] = [
        {"name": name, "spec": f"{name}:1/{count}", "slots": count}
        for name, count in zip("abc", slots, strict=False)
    ]
    return Pool({"program": "distcc", "environ": {"A": "1"}, "variable": "HOSTS", "hosts": hosts})


def test_no_pool_takes_nothing() -> None:
    """A build without one asks nobody."""
    assert Pool({}).slots == 0
    assert Pool({}).take(0.0) is None


def test_no_machine_is_sent_more_than_it_has_slots_for() -> None:
    """The one with the largest part free is next; when all are full, compiles stay here."""
    made = pool(1, 2)

    assert [made.take(0.0) for _ in range(4)] == ["a", "b", "b", None]
    made.done("b")
    assert made.take(0.0) == "b"


def test_the_program_is_told_one_machine() -> None:
    """So it is known who did what, and who did not."""
    assert pool(1, 2).order("b") == "HOSTS=b:1/2"


def test_a_machine_that_fails_is_left_alone_for_longer_and_longer() -> None:
    """A build does not wait for a machine that is gone, again and again; one that is back is used again."""
    made = pool(2)
    made.take(0.0)

    assert made.failed("a", "refused", 0.0)
    assert made.take(9.9) is None
    assert made.take(10.0) == "a"
    assert made.take(10.0) is None, "one compile shows whether it is back"
    assert not made.failed("a", "refused", 11.0)
    assert made.take(30.9) is None
    assert made.take(31.0) == "a"
    made.done("a")
    assert [made.take(32.0) for _ in range(3)] == ["a", "a", None]


def test_what_was_under_way_when_it_failed_counts_once() -> None:
    """Five compiles that end with their machine are one failure of it."""
    made = pool(2)
    made.take(0.0)
    made.take(0.0)

    assert [made.failed("a", "gone", 1.0), made.failed("a", "gone", 1.1)] == [True, False]
    assert made.take(11.0) == "a"


def test_a_source_that_does_not_compile_says_nothing_of_the_machine() -> None:
    """It is compiled here once more, for the compiler's own words; the machine goes on."""
    made = pool(1)
    made.take(0.0)

    made.refused("a", "exit code 1 of the compiler")

    assert made.take(0.0) == "a"


@pytest.mark.parametrize("words", ["distcc[77] ERROR: refused", "distcc[1234] ERROR: refused"])
def test_what_was_done_is_told_by_machine(words: str) -> None:
    """Sent, done, come back and why: the same reason of many processes is one reason."""
    made = pool(2, 1)
    for _ in range(3):
        made.take(0.0)
    made.done("a")
    made.failed("a", words, 0.0)
    made.left("b")
    made.stayed["nvcc"] = 3

    assert made.told() == {
        "hosts": {
            "a": {"sent": 2, "done": 1, "back": 1, "why": {"distcc ERROR: refused": 1}},
            "b": {"sent": 1, "done": 0, "back": 0, "why": {}},
        },
        "stayed": {"nvcc": 3},
        "by": {},
    }
