"""Products of matrices of many shapes, against exact sums."""

from __future__ import annotations

from typing import Any, Iterator

from .arithmetic import ROUNDING, Matrix, Product, error_ratio, exact_product, largest, random_matrix
from .verdict import Finding, failed, passed

__all__ = ["NAME", "NEEDS", "run"]

NAME = "matmul"
NEEDS = ("matmul",)

_REFERENCE = "smoke-matmul"
_SHAPES = (
    (1, 1, 1),
    (2, 3, 4),
    (5, 1, 7),
    (17, 33, 9),
    (64, 64, 64),
    (128, 7, 130),
    (31, 256, 5),
    (256, 48, 255),
    (65, 256, 66),
)
"""Rows, length of the sums, columns: on, below and above the blocks that a BLAS works in. Few enough for
the exact answers, which plain Python has to find."""


def run(subject: Any) -> list[Finding]:
    """One finding for each type of number; subjects without tensors take and give nested lists."""
    tensors = hasattr(subject, "tensor")
    dtypes = [name for name in ROUNDING if hasattr(subject, name)] if tensors else ["float64"]
    ratios: dict[str, list[float]] = {dtype: [] for dtype in dtypes}
    for a, b, wanted in _cases():
        for dtype in dtypes:
            seen = _tensor_product(subject, dtype, a, b) if tensors else _list_product(subject, a, b)
            ratios[dtype].append(error_ratio(seen, wanted, ROUNDING[dtype]))
    return [_judge(dtype, ratios[dtype]) for dtype in dtypes]


def _cases() -> Iterator[tuple[Matrix, Matrix, Product]]:
    for seed, (rows, length, columns) in enumerate(_SHAPES):
        a, b = random_matrix(rows, length, 2 * seed), random_matrix(length, columns, 2 * seed + 1)
        yield a, b, exact_product(a, b)


def _tensor_product(subject: Any, dtype: str, a: Matrix, b: Matrix) -> Any:
    number = getattr(subject, dtype)
    return subject.matmul(subject.tensor(a, dtype=number), subject.tensor(b, dtype=number)).tolist()


def _list_product(subject: Any, a: Matrix, b: Matrix) -> Matrix:
    return [list(row) for row in subject.matmul(a, b)]


def _judge(dtype: str, ratios: list[float]) -> Finding:
    wrong = [ratio for ratio in ratios if not ratio <= 1]
    told = wrong[0] if wrong else largest(ratios)
    what = "{}: {} shapes up to 256 against exact sums".format(dtype, len(_SHAPES))
    seen = "{:.3g} of the allowed error at {} x {} x {}".format(told, *_SHAPES[ratios.index(told)])
    wanted = "at most 1 of (k + 3) * {:.3g} * |A||B|".format(ROUNDING[dtype])
    return (failed if wrong else passed)(_REFERENCE, what, seen, wanted)
