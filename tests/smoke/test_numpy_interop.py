"""NumPy: a build that lost it fails, a machine without it is `not run`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


def test_machine_without_numpy_is_not_run(smoke: Callable, install: Callable) -> None:
    """Where NumPy is not installed, nothing can be said, and nothing is."""
    run = smoke(install(more="from_numpy = tensor = list\n"), "--only", "numpy_interop")

    assert (run.exit_code, run.outcomes("smoke-numpy-interop")) == (0, ["not run"])


@pytest.mark.torch_wheel
@pytest.mark.parametrize(
    ("body", "outcomes"),
    [
        ("    raise RuntimeError('Numpy is not available')", ["failed"]),
        ("    return torch.tensor(array)", ["passed", "failed"]),
        ("    return torch.from_numpy(array.astype('float64'))", ["failed", "failed"]),
    ],
    ids=["built without", "copies", "converts"],
)
def test_broken_exchange_fails(
    smoke: Callable, torch_python: str, tmp_path: Path, body: str, outcomes: list[str]
) -> None:
    """Lost support, copies and conversions are told apart."""
    (tmp_path / "crooked.py").write_text(
        f"import torch\nfrom torch import *\ndef from_numpy(array):\n{body}\n"
    )

    run = smoke(
        "crooked", "--only", "numpy_interop", python=torch_python, isolated=False, PYTHONPATH=str(tmp_path)
    )

    assert run.outcomes("smoke-numpy-interop") == outcomes
