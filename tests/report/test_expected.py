"""What edges should take."""

from __future__ import annotations

from torchbuild.report.expected import Expected
from torchbuild.resolve.edge_guesses import edge_guesses


def test_what_was_measured_comes_before_what_is_guessed() -> None:
    """Compiled and out of the cache apart."""
    expected = Expected(
        learned={"a.o": 7.0}, cached={"b.o": 0.5}, guess=lambda _: 3.0, guess_hit=lambda _: 0.1
    )

    assert (expected.of("a.o"), expected.of("b.o")) == (7.0, 3.0)
    assert (expected.of_hit("a.o"), expected.of_hit("b.o")) == (0.1, 0.5)


def test_kinds_are_told_apart_by_facts() -> None:
    """A kernel takes longer than an object, and an object longer than a script."""
    expected = edge_guesses()

    assert expected.of("a.cu.o") > expected.of("a.cpp.o") > expected.of("a.txt") > 0
    assert expected.of_hit("a.cpp.o") < 1
