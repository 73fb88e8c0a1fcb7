"""A linear layer: a lost bias or gradient does not pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

_CROOKED = """
import torch
from torch import *

class nn:
    class Linear(torch.nn.Linear):
        def forward(self, x):
            return torch.nn.functional.linear(x, self.weight, self.bias{tail})
"""


@pytest.mark.torch_wheel
@pytest.mark.parametrize(
    ("tail", "failed"),
    [("", 0), (" * 0", 8), (".detach() + 0 * self.bias", 2)],
    ids=["right", "no bias", "no gradient"],
)
def test_broken_layers_fail(
    smoke: Callable, torch_python: str, tmp_path: Path, tail: str, failed: int
) -> None:
    """What is wrong with a layer shows in the outputs or gradients that depend on it."""
    (tmp_path / "crooked.py").write_text(_CROOKED.format(tail=tail))

    run = smoke("crooked", "--only", "linear", python=torch_python, isolated=False, PYTHONPATH=str(tmp_path))

    assert len(run.failed()) == failed
    assert len(run.report["findings"]) == 8
