"""What goes on, as words."""

from __future__ import annotations

import pytest

from torchbuild.report.activity_text import edge_text, facts_text, now_text
from torchbuild.report.events import Activity, Running

HOSTILE = "\x1b[31mx\n::error::\r" + "y" * 10_000 + "\u202e/z.o"


def test_the_facts_are_one_line() -> None:
    """Jobs, those that wait, memory, cache: of each what is known."""
    known = Activity(
        stage="compile",
        tokens=2,
        jobs=2,
        waiting=3,
        memory=9 << 30,
        memory_total=24 << 30,
        cache_hits=402,
        cache_calls=431,
    )

    assert facts_text(known) == "2 of 2 jobs, 3 wait for memory, 9.0 GiB of 24.0 GiB, cache 402 of 431"
    assert facts_text(Activity(stage="compile", waiting=1)) == "1 waits for memory"
    assert facts_text(Activity(stage="compile")) == ""


def test_of_many_edges_those_that_run_longest_are_named() -> None:
    """And the others are counted."""
    edges = tuple(Running(name=f"x/{name}.o", seconds=60.0, waits=name == "b") for name in "abcd")

    assert now_text(Activity(stage="c", edges=edges, running=9)) == (
        "x/a.o (1 min 00 s), x/b.o (waits), x/c.o (1 min 00 s) and 6 more"
    )
    assert now_text(Activity(stage="c", running=9)) == ""
    assert now_text(Activity(stage="c", edges=(Running(name="a.o", seconds=0.9),), running=1)) == "a.o"


def test_an_edges_time_goes_on() -> None:
    """Between two looks."""
    assert edge_text(Running(name="a.o", seconds=41.0), 2.5) == "     43.5 s  a.o"
    assert edge_text(Running(name="a.o", seconds=41.0, waits=True), 2.5) == "      waits  a.o"


@pytest.mark.parametrize("most", [1, 2, 8, 60])
def test_a_hostile_name_is_one_short_line(most: int) -> None:
    """Colours, line ends, ten thousand characters, a direction that turns."""
    text = edge_text(Running(name=HOSTILE, seconds=1.0), most=most)

    assert len(text) <= 13 + max(most, 3)
    assert text.isprintable()
    assert "::" not in now_text(Activity(stage="c", edges=(Running(name=HOSTILE, seconds=1.0),), running=1))
