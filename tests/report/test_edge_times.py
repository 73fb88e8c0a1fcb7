"""What edges took, kept for the next build."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.report.edge_times import edge_times, learned, times_name
from torchbuild.report.expected import Expected
from torchbuild.report.ninja_log import LogEdge

EDGES = [LogEdge("a.o", 1, 0, 2500), LogEdge("b.o", 1, 0, 40), LogEdge("lib.so", 1, 2500, 3500)]


def test_what_was_learned_is_known_the_next_time() -> None:
    """Edges that were not made this time are still known."""
    text = learned(Expected(learned={"z.o": 7.0}), EDGES, {}, has_cache=False)

    assert edge_times(text).learned == {"z.o": 7.0, "a.o": 2.5, "b.o": 0.04, "lib.so": 1.0}


def test_what_a_cache_gave_is_not_taken_for_a_compilation() -> None:
    """A warm build does not make the next cold one look short; what the cache said nothing of teaches nothing."""
    before = Expected(learned={"a.o": 3.0, "b.o": 9.0})
    edges = [*EDGES, LogEdge("c.o", 1, 0, 10)]
    after = edge_times(learned(before, edges, {"a.o": "miss", "b.o": "hit"}, has_cache=True))

    assert after.learned == {"a.o": 2.5, "b.o": 9.0, "lib.so": 1.0}
    assert after.cached == {"b.o": 0.04}


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "[]", "3", "{}", '{"format": 2, "compiled": {}, "cached": {}}', '{"format": 1}',
     '{"format": 1, "compiled": 3, "cached": {}}', "[" * 100_000],
)  # fmt: skip
def test_a_damaged_file_is_none(text: str | None) -> None:
    """The estimate is worse, and the build goes on."""
    assert edge_times(text).learned == {}


def test_times_that_cannot_be_are_left_out() -> None:
    """A file of the cache may have been written by anybody."""
    said = {"a": -1, "b": "3", "c": 1e99, "d": 2.5, "e": True, "f": None}
    text = json.dumps({"format": 1, "compiled": said, "cached": {}})

    assert edge_times(text).learned == {"d": 2.5, "e": 1.0}


def test_another_compiler_has_other_times() -> None:
    """And so have other GPU architectures, by which device code takes longer."""
    names = {times_name("gcc 12", ()), times_name("gcc 13", ()), times_name("gcc 12", ("9.0",))}

    assert len(names) == 3


@given(st.text())
def test_no_text_brings_it_down(text: str) -> None:
    """Whatever lies in the cache."""
    assert edge_times(text).cached == {}
