"""The reference itself is right."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from torchbuild.smoke.arithmetic import (
    ROUNDING,
    error_ratio,
    exact_product,
    largest,
    largest_difference,
    product,
    random_matrix,
    single,
)


def test_products_are_exact_up_to_rounding() -> None:
    """Against fractions, every element is right to within its own bound."""
    a, b = random_matrix(7, 40, seed=1), random_matrix(40, 5, seed=2)
    exact = [
        [float(sum(Fraction(x) * Fraction(row[j]) for x, row in zip(line, b, strict=True))) for j in range(5)]
        for line in a
    ]

    assert error_ratio(exact, exact_product(a, b), ROUNDING["float64"]) < 0.1


def test_cancellation_does_not_hide_errors() -> None:
    """Sums whose terms cancel keep their small rest."""
    assert product([[1e16, 1.0, -1e16]], [[1.0], [1.0], [1.0]]) == [[1.0]]


def test_matrices_are_the_same_everywhere() -> None:
    """The same seed gives the same numbers, which single precision holds."""
    matrix = random_matrix(3, 3, seed=7)

    assert matrix == random_matrix(3, 3, seed=7)
    assert all(value == single(value) and abs(value) <= 1 for row in matrix for value in row)


@pytest.mark.parametrize(
    ("values", "found"), [([], 0.0), ([1.0, 3.0, 2.0], 3.0), ([1.0, math.inf], math.inf)]
)
def test_largest(values: list[float], found: float) -> None:
    """The largest of all; nothing has none."""
    assert largest(values) == found


def test_no_number_is_the_worst() -> None:
    """Not a number is never lost among numbers."""
    assert math.isnan(largest([1.0, math.nan, 2.0]))
    assert math.isnan(largest_difference([[1.0, math.nan]], [[1.0, 2.0]]))


def test_other_shapes_are_infinitely_wrong() -> None:
    """A result of another shape is no small error."""
    assert largest_difference([[1.0]], [[1.0, 2.0]]) == math.inf
    assert error_ratio([[1.0]], exact_product([[1.0], [1.0]], [[1.0]]), 1.0) == math.inf


def test_zero_must_be_exact() -> None:
    """Where nothing can be rounded, nothing may differ."""
    wanted = exact_product([[0.0]], [[5.0]])

    assert error_ratio([[0.0]], wanted, 2.0**-24) == 0
    assert error_ratio([[1e-30]], wanted, 2.0**-24) == math.inf
