"""Who waits for whom, out of build.ninja."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.report.build_graph import BuildGraph, parse_build_ninja

TEXT = """\
# a comment
work = /w/
rule cc
  command = cc $in -o $out
build gen.h | ${work}gen.h: custom gen.py
build a.o: cc a.c | tool || gen.h
  flags = -O2
build b.o: cc b$ c.c || $
    order
build order: phony gen.h
build lib.so: link a.o b.o |@ check
build check: custom lib.so
build unused: custom
build all: phony lib.so
default all
"""


def names(graph: BuildGraph, edges: tuple[int, ...]) -> list[str]:
    """First outputs."""
    return [graph.outputs[edge][0] for edge in edges]


def test_all_sorts_of_inputs_are_waited_for() -> None:
    """Explicit, implicit and order-only; over lines, escapes, variables and phony edges. Not validations."""
    graph = parse_build_ninja(TEXT)
    needs = {made[0]: names(graph, needed) for made, needed in zip(graph.outputs, graph.needs, strict=True)}

    assert needs["a.o"] == ["gen.h"]
    assert needs["b.o"] == ["order"]
    assert needs["lib.so"] == ["a.o", "b.o"]
    assert graph.makers["/w/gen.h"] == graph.makers["gen.h"]


def test_only_what_is_asked_for_is_built() -> None:
    """What no default needs is no part of a build."""
    graph = parse_build_ninja(TEXT)

    assert {graph.outputs[edge][0] for edge in graph.closure()} == {
        "gen.h",
        "a.o",
        "b.o",
        "order",
        "lib.so",
        "all",
    }


def test_the_longest_way_is_found() -> None:
    """By time, not by number of edges; through edges that take none, which are left out."""
    graph = parse_build_ninja(TEXT)
    seconds = {"gen.h": 5.0, "a.o": 1.0, "b.o": 7.0, "lib.so": 2.0, "unused": 13.0}
    by_edge = {graph.makers[name]: value for name, value in seconds.items()}

    assert names(graph, graph.longest(by_edge)) == ["gen.h", "b.o", "lib.so"]
    assert graph.length(by_edge) == 14.0


def test_a_circle_ends() -> None:
    """One that ninja refuses: a reader of a damaged file does not hang on it."""
    graph = parse_build_ninja("build a: r b\nbuild b: r a\nbuild c: r c\n")

    assert graph.longest({0: 1.0, 1: 1.0})
    assert len(graph.closure((0,))) == 2


def test_a_chain_of_many_is_no_recursion() -> None:
    """A hundred thousand edges in a row are walked as well."""
    text = "".join(f"build {number + 1}: r {number}\n" for number in range(100_000))

    assert parse_build_ninja(text).length(dict.fromkeys(range(100_000), 1.0)) == 100_000


@pytest.mark.parametrize(
    "text", ["", "build", "build :", "build a", "build $", "build a: ", "default $$$", "a=$a"]
)
def test_a_damaged_file_is_read_as_far_as_it_goes(text: str) -> None:
    """There is no timeline without it, so it is not refused."""
    assert parse_build_ninja(text).longest({}) == ()


@given(st.text(alphabet="build ab:|$@{}=\n#"))
def test_no_text_brings_it_down(text: str) -> None:
    """Whatever it is."""
    graph = parse_build_ninja(text)

    assert len(graph.order) == len(graph.outputs) == len(graph.needs) == len(graph.is_phony)
