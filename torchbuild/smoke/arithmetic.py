"""Exact enough answers without any library: double precision, sums without rounding error.

The reference must not share a line of code with the subject, not even the BLAS that NumPy may share with it.
"""

from __future__ import annotations

import math
import random
import struct
from operator import mul
from typing import Iterable, List, Sequence

__all__ = [
    "ROUNDING",
    "Matrix",
    "error_ratio",
    "largest",
    "largest_difference",
    "product",
    "random_matrix",
    "single",
    "transposed",
]

Matrix = List[List[float]]

ROUNDING = {"float32": 2.0**-24, "float64": 2.0**-53}
"""Unit roundoff by the name of the type."""


def random_matrix(rows: int, columns: int, seed: int) -> Matrix:
    """Numbers between -1 and 1 that single precision holds exactly; the same for the same seed."""
    source = random.Random(seed)
    return [[single(source.uniform(-1, 1)) for _ in range(columns)] for _ in range(rows)]


def single(value: float) -> float:
    """The nearest number of single precision."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def transposed(matrix: Sequence[Sequence[float]]) -> Matrix:
    """Rows as columns."""
    return [list(column) for column in zip(*matrix)]  # noqa: B905  older than strict=


def product(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> Matrix:
    """The matrix product; each element is rounded once for each factor and once at the end."""
    columns = transposed(b)
    return [[math.fsum(map(mul, row, column)) for column in columns] for row in a]


def largest(values: Iterable[float]) -> float:
    """The largest value; not a number where one of them is none."""
    found = 0.0
    for value in values:
        if math.isnan(value):
            return math.nan
        found = max(found, value)
    return found


def largest_difference(seen: Sequence[Sequence[float]], wanted: Sequence[Sequence[float]]) -> float:
    """The largest absolute difference; infinite where the shapes differ."""
    if [len(row) for row in seen] != [len(row) for row in wanted]:
        return math.inf
    pairs = ((s, w) for row, other in zip(seen, wanted) for s, w in zip(row, other))  # noqa: B905
    return largest(abs(s - w) for s, w in pairs)


def error_ratio(
    seen: Sequence[Sequence[float]],
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    rounding: float,
) -> float:
    """How much of the error that a product may have is used up: right is at most 1.

    The bound is the textbook one, element by element: (k + 3) roundoffs of the product of absolute values,
    where k is the length of the sums. It holds for every order of summation.
    """
    wanted = product(a, b)
    sizes = product([list(map(abs, row)) for row in a], [list(map(abs, row)) for row in b])
    if [len(row) for row in seen] != [len(row) for row in wanted]:
        return math.inf
    unit = (len(b) + 3) * rounding
    cells = (
        (abs(s - w), unit * size)
        for seen_row, wanted_row, size_row in zip(seen, wanted, sizes)  # noqa: B905
        for s, w, size in zip(seen_row, wanted_row, size_row)  # noqa: B905
    )
    return largest(error / bound if bound else error * math.inf if error else 0.0 for error, bound in cells)
