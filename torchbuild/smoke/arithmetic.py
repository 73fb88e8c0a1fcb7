"""Exact enough answers without any library: double precision, sums without rounding error.

The reference must not share a line of code with the subject, not even the BLAS that NumPy may share with it.
"""

from __future__ import annotations

import math
import random
import struct
from operator import mul
from typing import Iterable, List, NamedTuple, Sequence

__all__ = [
    "ROUNDING",
    "Matrix",
    "Product",
    "error_ratio",
    "exact_product",
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


class Product(NamedTuple):
    """A matrix product and what it may be wrong by."""

    values: Matrix
    """The product, each element rounded once for each factor and once at the end."""
    sizes: Matrix
    """The product of the absolute values: what rounding errors are measured in."""
    length: int
    """Terms of each sum."""


def random_matrix(rows: int, columns: int, seed: int) -> Matrix:
    """Numbers between -1 and 1 that single precision holds exactly; the same for the same seed."""
    source = random.Random(seed)
    return [[single(source.uniform(-1, 1)) for _ in range(columns)] for _ in range(rows)]


def single(value: float) -> float:
    """The nearest number of single precision."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def transposed(matrix: Sequence[Sequence[float]]) -> Matrix:
    """Rows as columns."""
    return [list(column) for column in zip(*matrix)]


def product(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> Matrix:
    """The matrix product; each element is rounded once for each factor and once at the end."""
    columns = transposed(b)
    return [[math.fsum(map(mul, row, column)) for column in columns] for row in a]


def exact_product(a: Matrix, b: Matrix) -> Product:
    """The product, and the measure of its rounding errors."""
    columns = [list(map(abs, column)) for column in transposed(b)]
    sizes = [[sum(map(mul, map(abs, row), column)) for column in columns] for row in a]
    return Product(product(a, b), sizes, len(b))


def error_ratio(seen: Sequence[Sequence[float]], wanted: Product, rounding: float) -> float:
    """How much of the error that a product may have is used up: right is at most 1.

    The bound is the textbook one, element by element: (k + 3) roundoffs of the product of absolute values,
    where k is the length of the sums. It holds for every order of summation.
    """
    if [len(row) for row in seen] != [len(row) for row in wanted.values]:
        return math.inf
    unit = (wanted.length + 3) * rounding
    rows = zip(seen, wanted.values, wanted.sizes)
    return largest(_ratio(abs(s - w), unit * size) for row in rows for s, w, size in zip(*row))


def _ratio(error: float, bound: float) -> float:
    if bound:
        return error / bound
    return math.inf if error else error


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
    rows = zip(seen, wanted)
    return largest(abs(s - w) for row in rows for s, w in zip(*row))
