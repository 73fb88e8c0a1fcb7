"""Counts of several runs."""

from __future__ import annotations

from torchbuild.shim.counts import together


def test_numbers_are_added_by_name_and_of_the_rest_the_later_counts() -> None:
    """A front end calls ninja once to build and once to install: both are one build."""
    first = {"hosts": {"a": {"sent": 2, "why": {"x": 1}}}, "word": "one"}
    second = {"hosts": {"a": {"sent": 0, "why": {"y": 1}}, "b": {"sent": 1}}, "word": "two"}

    assert together(first, second) == {
        "hosts": {"a": {"sent": 2, "why": {"x": 1, "y": 1}}, "b": {"sent": 1}},
        "word": "two",
    }
    assert together({}, second) == second
