"""What ninja would do with what is left."""

from __future__ import annotations

import time

import pytest

from torchbuild.report.build_graph import parse_build_ninja
from torchbuild.report.schedule import Schedule, remaining

TEXT = """\
build gen.h: gen
build order: phony gen.h
build a.o: cc a.c || order
build b.o: cc b.c || order
build long.o: cc long.c
build lib.so: ld a.o b.o long.o
build all: phony lib.so
default all
"""
GRAPH = parse_build_ninja(TEXT)


def end(seconds: dict[str, float], slots: int = 2, **running: float) -> float:
    """When the last of these ends."""
    by_edge = {GRAPH.makers[name]: took for name, took in seconds.items()}
    names = {"a": "a.o", "b": "b.o", "gen": "gen.h", "long": "long.o"}
    runs = {GRAPH.makers[names[name]]: ran for name, ran in running.items()}
    return Schedule(GRAPH, by_edge).end(by_edge, slots, runs)


def test_what_waits_is_waited_for() -> None:
    """Also through a name that stands for others; slots that have nothing to do stand idle."""
    seconds = {"gen.h": 5.0, "a.o": 3.0, "b.o": 4.0, "long.o": 1.0, "lib.so": 2.0}

    assert end(seconds) == 5 + 4 + 2
    assert end(seconds, slots=1) == 5 + 3 + 4 + 1 + 2
    assert end(seconds, slots=64) == 5 + 4 + 2


def test_what_is_done_is_not_waited_for() -> None:
    """Only what is left is in the sum."""
    assert end({"a.o": 3.0, "b.o": 4.0, "lib.so": 2.0}) == 6
    assert end({"lib.so": 2.0}) == 2
    assert end({}) == 0


def test_what_runs_has_done_a_part() -> None:
    """It is known which, and for how long: a link is not thought to begin anew with each object."""
    assert end({"long.o": 10.0, "lib.so": 2.0}, long=8.0) == 4
    assert end({"a.o": 3.0, "b.o": 4.0, "lib.so": 2.0}, slots=1, b=1.0) == 3 + 3 + 2


def test_what_should_be_over_takes_longer() -> None:
    """The longer it is overdue, the longer it will still take: nobody is told of an end that never comes."""
    assert remaining(10.0, 5.0) == 5.0
    assert remaining(10.0, 100.0) == 20.0


def test_more_may_run_than_there_are_slots() -> None:
    """Memory or a person may have taken a token away."""
    assert end({"a.o": 3.0, "b.o": 4.0, "long.o": 1.0, "lib.so": 2.0}, slots=1, a=0.0, b=0.0, long=0.0) == 6


def test_the_longest_way_is_begun_first() -> None:
    """As ninja does: a library that others wait for is made before what nobody waits for."""
    chain = "".join(f"build c{n}: l{f' c{n - 1}' if n else ''}\n" for n in range(10))
    graph = parse_build_ninja("".join(f"build x{n}: l\n" for n in range(10)) + chain)
    seconds = dict.fromkeys(range(20), 1.0)

    assert Schedule(graph, seconds).end(seconds, 2, {}) == 10


def test_a_circle_ends() -> None:
    """A build file that is damaged makes no endless loop."""
    graph = parse_build_ninja("build a: l b\nbuild b: l a\nbuild c: l\n")
    seconds = {0: 1.0, 1: 1.0, 2: 1.0}

    assert Schedule(graph, seconds).end(seconds, 2, {}) <= 3


@pytest.mark.parametrize("count", [10_000])
def test_ten_thousand_edges_are_looked_at_in_no_time(count: int) -> None:
    """An estimate may cost as much as a small edge, a hundred times in a build."""
    libs = "".join(
        f"build lib{n}.so: ld {' '.join(f'o{m}.o' for m in range(n, count, 40))}\n" for n in range(40)
    )
    graph = parse_build_ninja("".join(f"build o{n}.o: cc o{n}.c\n" for n in range(count)) + libs)
    seconds = dict.fromkeys(range(count + 40), 1.0)
    schedule = Schedule(graph, seconds)
    begin = time.process_time()

    assert schedule.end(seconds, 8, {}) >= (count + 40) / 8

    assert time.process_time() - begin < 1.0
