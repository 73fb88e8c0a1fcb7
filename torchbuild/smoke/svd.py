"""Singular values: factors multiply back, are orthogonal, values fall. Proves that LAPACK is there."""

from __future__ import annotations

from typing import Any

from .arithmetic import ROUNDING, Matrix, largest, largest_difference, product, random_matrix, transposed
from .verdict import Finding, failed, passed, within

__all__ = ["NAME", "NEEDS", "run"]

NAME = "svd"
NEEDS = ("linalg.svd", "tensor", "float32", "float64")

_REFERENCE = "smoke-svd"
_SHAPES = ((1, 1), (5, 3), (3, 5), (32, 32), (64, 48))
_SLACK = 30
"""Allowed error in units of the larger dimension times the roundoff."""


def run(subject: Any) -> list[Finding]:
    """Three findings for each type of number."""
    return [finding for dtype in ROUNDING for finding in _judge(subject, dtype)]


def _judge(subject: Any, dtype: str) -> list[Finding]:
    back, orthogonal, ordered = [], [], True
    for seed, (rows, columns) in enumerate(_SHAPES):
        matrix = random_matrix(rows, columns, seed)
        tensor = subject.tensor(matrix, dtype=getattr(subject, dtype))
        u, s, vh = (part.tolist() for part in subject.linalg.svd(tensor, full_matrices=False))
        unit = max(rows, columns) * ROUNDING[dtype]
        again = product([[x * value for x, value in zip(row, s)] for row in u], vh)
        back.append(largest_difference(again, matrix) / (unit * max(s[0], 1e-30)))
        orthogonal += [_from_identity(transposed(u)) / unit, _from_identity(vh) / unit]
        ordered = ordered and s == sorted(s, reverse=True) and min(s) >= 0
    what = "{}: {} shapes up to 64 x 48, ".format(dtype, len(_SHAPES))
    order = passed if ordered else failed
    return [
        within(_REFERENCE, what + "factors multiply back, in roundoffs", largest(back), _SLACK),
        within(_REFERENCE, what + "factors are orthogonal, in roundoffs", largest(orthogonal), _SLACK),
        order(_REFERENCE, what + "values are not negative and fall", ordered, True),
    ]


def _from_identity(rows: Matrix) -> float:
    """How far the rows are from orthogonal ones of length 1."""
    identity = [[float(i == j) for j in range(len(rows))] for i in range(len(rows))]
    return largest_difference(product(rows, transposed(rows)), identity)
