"""Gradients against the formula, and against differences of the function itself."""

from __future__ import annotations

import math
from typing import Any

from .arithmetic import largest, largest_difference, product, random_matrix, transposed
from .verdict import Finding, within

__all__ = ["NAME", "NEEDS", "run"]

NAME = "autograd"
NEEDS = ("autograd.backward", "tensor", "float64", "sin", "exp", "matmul")

_REFERENCE = "smoke-autograd"
_STEP = 1e-5
_ANALYTIC = 1e-13
_NUMERIC = 1e-8
"""A central difference of step h is wrong by about h^2 and by the roundoff over h."""


def run(subject: Any) -> list[Finding]:
    """Three findings: formula, differences, and the gradient of a product of matrices."""
    points = [value for row in random_matrix(4, 8, seed=5) for value in row]
    x = subject.tensor(points, dtype=subject.float64, requires_grad=True)
    _function(subject, x).backward()
    gradient = x.grad.tolist()
    formula = [math.cos(p) * p * p + 2 * p * math.sin(p) - math.exp(-p) for p in points]
    numeric = [_difference(subject, point) for point in points]
    what = "d sum(sin(x) x^2 + exp(-x)) against "
    return [
        within(_REFERENCE, what + "the formula", _worst(gradient, formula), _ANALYTIC),
        within(_REFERENCE, what + "differences", _worst(gradient, numeric), _NUMERIC),
        _matrices(subject),
    ]


def _function(subject: Any, x: Any) -> Any:
    return (subject.sin(x) * x * x + subject.exp(-x)).sum()


def _difference(subject: Any, point: float) -> float:
    above, below = (
        float(_function(subject, subject.tensor([point + step], dtype=subject.float64)))
        for step in (_STEP, -_STEP)
    )
    return (above - below) / (2 * _STEP)


def _worst(seen: list[float], wanted: list[float]) -> float:
    return largest(abs(s - w) for s, w in zip(seen, wanted))


def _matrices(subject: Any) -> Finding:
    """The gradient of sum((A B)^2) is 2 (A B) B' and 2 A' (A B)."""
    a, b = random_matrix(6, 5, seed=6), random_matrix(5, 7, seed=7)
    left = subject.tensor(a, dtype=subject.float64, requires_grad=True)
    right = subject.tensor(b, dtype=subject.float64, requires_grad=True)
    result = subject.matmul(left, right)
    (result * result).sum().backward()
    twice = [[2 * value for value in row] for row in product(a, b)]
    error = max(
        largest_difference(left.grad.tolist(), product(twice, transposed(b))),
        largest_difference(right.grad.tolist(), product(transposed(a), twice)),
    )
    return within(_REFERENCE, "d sum((A B)^2) against the formula", error, 100 * _ANALYTIC)
