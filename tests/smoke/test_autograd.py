"""Gradients: a wrong derivative does not pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

_CROOKED = """
import torch
from torch import *
from torch import autograd, nn

class _Sin(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.cos(x) * (1 + 1e-6)

sin = _Sin.apply
"""


@pytest.mark.torch_wheel
def test_slightly_wrong_derivative_fails(smoke: Callable, torch_python: str, tmp_path: Path) -> None:
    """A derivative that is wrong by one millionth fails against the formula and against differences."""
    (tmp_path / "crooked.py").write_text(_CROOKED)

    run = smoke(
        "crooked", "--only", "autograd", python=torch_python, isolated=False, PYTHONPATH=str(tmp_path)
    )

    assert run.outcomes("smoke-autograd") == ["failed", "failed", "passed"]
    assert all(found["seen"].startswith("error ") for found in run.failed())
