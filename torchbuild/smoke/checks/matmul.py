"""Products of matrices of many shapes, against exact sums."""

from __future__ import annotations

from typing import Any, List, Tuple

from ..arithmetic import ROUNDING, Matrix, error_ratio, random_matrix
from ..verdict import Finding, failed, passed

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
    (256, 256, 256),
)
"""Rows, length of the sums, columns: on, below and above the blocks that a BLAS works in."""


def run(subject: Any) -> List[Finding]:
    """One finding for each type of number; subjects without tensors take and give nested lists."""
    if not hasattr(subject, "tensor"):
        return [_judge(subject, "float64", lists=True)]
    return [_judge(subject, name, lists=False) for name in ROUNDING if hasattr(subject, name)]


def _judge(subject: Any, dtype: str, lists: bool) -> Finding:  # noqa: FBT001
    worst, where = 0.0, _SHAPES[0]
    for seed, shape in enumerate(_SHAPES):
        ratio = _ratio(subject, dtype, shape, seed, lists)
        if not ratio <= worst:  # also where it is no number
            worst, where = ratio, shape
            if worst != worst:  # noqa: PLR0124  not a number
                break
    what = "{}: {} shapes up to 256 x 256 x 256 against exact sums".format(dtype, len(_SHAPES))
    seen = "{:.3g} of the allowed rounding error at {} x {} x {}".format(worst, *where)
    judge = passed if worst <= 1 else failed
    return judge(_REFERENCE, what, seen, "at most 1 of (k + 3) * {:.3g} * |A||B|".format(ROUNDING[dtype]))


def _ratio(subject: Any, dtype: str, shape: Tuple[int, int, int], seed: int, lists: bool) -> float:  # noqa: FBT001
    rows, length, columns = shape
    a, b = random_matrix(rows, length, 2 * seed), random_matrix(length, columns, 2 * seed + 1)
    return error_ratio(_product(subject, dtype, a, b, lists), a, b, ROUNDING[dtype])


def _product(subject: Any, dtype: str, a: Matrix, b: Matrix, lists: bool) -> Matrix:  # noqa: FBT001
    if lists:
        return [list(row) for row in subject.matmul(a, b)]
    number = getattr(subject, dtype)
    result = subject.matmul(subject.tensor(a, dtype=number), subject.tensor(b, dtype=number))
    return result.tolist()  # type: ignore[no-any-return]
