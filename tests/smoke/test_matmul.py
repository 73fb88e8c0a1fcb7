"""Products against exact sums."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from torchbuild.smoke import matmul
from torchbuild.smoke.arithmetic import Matrix, product, single


class _Tensor:
    def __init__(self, values: Matrix) -> None:
        self.values = values

    def tolist(self) -> Matrix:
        return self.values


def _tensors(wrong: float = 0.0) -> SimpleNamespace:
    """A library of tensors that computes in double precision and rounds to single where asked."""

    def multiply(a: tuple[Matrix, str], b: tuple[Matrix, str]) -> _Tensor:
        rows = product(a[0], b[0])
        if a[1] == "single":
            rows = [[single(value) for value in row] for row in rows]
        rows[-1][-1] += wrong
        return _Tensor(rows)

    return SimpleNamespace(
        matmul=multiply, tensor=lambda rows, dtype: (rows, dtype), float32="single", float64="double"
    )


def test_right_products_pass_in_both_types() -> None:
    """Each type of number that the subject has is judged by its own rounding."""
    assert [found["outcome"] for found in matmul.run(_tensors())] == ["passed", "passed"]


@pytest.mark.parametrize(
    ("wrong", "outcomes"),
    [
        (1e-3, ["failed", "failed"]),
        (1e-9, ["passed", "failed"]),
        (math.nan, ["failed", "failed"]),
        (math.inf, ["failed", "failed"]),
    ],
)
def test_one_wrong_number_fails(wrong: float, outcomes: list[str]) -> None:
    """One element that is wrong by more than rounding fails, and so does one that is no number."""
    findings = matmul.run(_tensors(wrong))

    assert [found["outcome"] for found in findings] == outcomes
    assert all("at" in found["seen"] and "|A||B|" in found["wanted"] for found in findings)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda a, b: [[0.0] * len(b[0]) for _ in a],
        lambda a, b: product(a, b)[:-1],
        lambda a, b: (
            product(a, b) if len(a) != 256 else [[x * 1.0000001 for x in row] for row in product(a, b)]
        ),
        lambda a, b: [[float("nan")] * len(b[0]) for _ in a],
    ],
    ids=["zeros", "a row short", "only large ones wrong", "not a number"],
)
def test_wrong_lists_fail(wrong: object) -> None:
    """A subject that takes lists is held to double precision in every shape."""
    (found,) = matmul.run(SimpleNamespace(matmul=wrong))

    assert found["outcome"] == "failed"
