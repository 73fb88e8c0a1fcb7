"""The checker itself: it is silent where an advice holds, and speaks where one line of it is made wrong."""

from __future__ import annotations

import pytest

from tests.advice.checker import names_two_facts, violations
from torchbuild.advice.answer import Advice, Choice, Cited, Conflict
from torchbuild.advice.wish import Wish

GOOD = {
    "python.version": "3.13",
    "cuda.version": "12.6.3",
    "cuda.archs": "6.1, 8.9",
    "cudnn.version": "9.5.1.17",
    "nccl.version": "2.21.5",
}
WISH = Wish(torch="2.6", gpus=("GTX 1080 Ti", "RTX 4090"), driver="535", glibc="2.36")


def _advice(wish: Wish, **changed: str) -> Advice:
    lines = {**GOOD, **{key.replace("__", "."): value for key, value in changed.items()}}
    choices = tuple(Choice(key=key, value=value, why="", facts=()) for key, value in lines.items())
    return Advice(wish=wish, choices=choices, notes=(), unconfirmed=(), conflicts=(), ways=())


def test_what_holds_passes() -> None:
    """An advice that was derived by hand breaks no constraint."""
    assert violations(WISH, _advice(WISH)) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("python__version", "3.14"),
        ("python__version", "3.12"),
        ("cuda__version", "10.2"),
        ("cuda__version", "11.7.1"),
        ("cuda__version", "13.0.2"),
        ("cuda__version", "99.0"),
        ("cuda__archs", "6.1"),
        ("cuda__archs", "6.1, 8.9+PTX"),
        ("cuda__archs", "6.1+PTX, 8.9"),
        ("cuda__archs", "8.9, 6.1"),
        ("cuda__archs", "6.1, 8.9, 9.0"),
        ("cuda__archs", "6.0, 8.9"),
        ("cuda__archs", "all"),
        ("cudnn__version", ""),
        ("cudnn__version", "9.11.0.98"),
        ("cudnn__version", "8.4.1.50"),
        ("cudnn__version", "9.5.1.18"),
        ("nccl__version", ""),
        ("nccl__version", "2.6.4"),
        ("image__suite", "trixie"),
        ("toolchain__cxx", "g++-14"),
    ],
)
def test_a_wrong_line_is_told(key: str, value: str) -> None:
    """Any line that a constraint forbids is a violation, whatever the others are."""
    assert violations(WISH, _advice(WISH, **{key: value}))


@pytest.mark.parametrize(
    "changed",
    [
        {"driver": "470"},
        {"driver": "515"},
        {"driver": "590"},
        {"modules": "open"},
        {"gcc": "15"},
        {"gcc": "8"},
        {"builder_glibc": "2.41"},
        {"glibc": "2.28", "builder_glibc": "2.31"},
        {"cuda": "12.4"},
        {"cudnn": "9.1.0.70"},
        {"nccl": "none"},
        {"python": "3.12"},
        {"archs": ("6.1", "8.9+PTX")},
        {"gpus": ("GTX 1080 Ti", "RTX 5090")},
        {"gpus": ("GTX 1080 Ti", "Voodoo 5 6000")},
        {"gpus": ("GeForce GTX 860M", "RTX 4090")},
        {"gpus": ()},
        {"torch": "2.14"},
        {"torch": "2.99"},
    ],
    ids=str,
)
def test_a_wish_that_it_does_not_meet_is_told(changed: dict[str, object]) -> None:
    """The same lines are a violation for whoever wishes something that they are not."""
    wish = WISH.model_copy(update=changed)

    assert violations(wish, _advice(wish))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([("cuda.arch", "61"), ("wish", "cuda")], True),
        ([("cuda.arch", "61"), ("torch_lines.line", "2.9")], True),
        ([("cuda.arch", "61"), ("cuda.arch", "61")], False),
        ([("cuda.arch", "61"), ("cuda.arch", "62000")], False),
        ([("cuda.arch", "61"), ("cuda.nothing", "61")], False),
        ([("cuda.arch", "61"), ("wish", "colour")], False),
    ],
)
def test_a_fact_is_one_that_is_there(facts: list[tuple[str, str]], *, expected: bool) -> None:
    """Two facts are two different rows of tables that exist, or fields of a wish."""
    cited = tuple(Cited(table=table, row=row, says="so") for table, row in facts)

    assert names_two_facts(Conflict(reference="r", what="w", facts=cited, fix="f")) is expected
