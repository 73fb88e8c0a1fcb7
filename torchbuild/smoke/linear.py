"""A linear layer, forward and backward, against the formulas: modules, parameters and gradients together."""

from __future__ import annotations

from typing import Any

from .arithmetic import ROUNDING, Matrix, largest_difference, product, random_matrix, transposed
from .verdict import Finding, within

__all__ = ["NAME", "NEEDS", "run"]

NAME = "linear"
NEEDS = ("nn.Linear", "tensor", "float32", "float64")

_REFERENCE = "smoke-linear"
_BATCH, _INPUTS, _OUTPUTS = 9, 12, 7
_SLACK = 64
"""Allowed error in roundoffs; each number is a sum of at most twelve terms of size one, twice."""


def run(subject: Any) -> list[Finding]:
    """Four findings for each type of number: output, and gradients of weight, bias and input."""
    return [finding for dtype in ROUNDING for finding in _judge(subject, dtype)]


def _judge(subject: Any, dtype: str) -> list[Finding]:
    number = getattr(subject, dtype)
    layer = subject.nn.Linear(_INPUTS, _OUTPUTS).to(number)
    inputs = random_matrix(_BATCH, _INPUTS, seed=11)
    x = subject.tensor(inputs, dtype=number, requires_grad=True)
    y = layer(x)
    ((y * y).sum() / 2).backward()  # so that the gradient at the output is the output
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    wanted = _forward(inputs, weight, bias)
    looks = (
        ("output", y.tolist(), wanted),
        ("gradient of the weight", layer.weight.grad.tolist(), product(transposed(wanted), inputs)),
        ("gradient of the bias", [layer.bias.grad.tolist()], product([[1.0] * _BATCH], wanted)),
        ("gradient of the input", x.grad.tolist(), product(wanted, weight)),
    )
    bound = _SLACK * ROUNDING[dtype]
    return [
        within(_REFERENCE, "{}: {}".format(dtype, what), largest_difference(seen, right), bound)
        for what, seen, right in looks
    ]


def _forward(inputs: Matrix, weight: Matrix, bias: list[float]) -> Matrix:
    with_bias = [[*row, 1.0] for row in inputs]
    return product(with_bias, transposed([[*row, b] for row, b in zip(weight, bias)]))
