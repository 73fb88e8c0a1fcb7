"""Singular values: wrong factors do not pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from torchbuild.smoke import svd


class _Part:
    def __init__(self, values: list) -> None:
        self.values = values

    def tolist(self) -> list:
        return self.values


def _subject(factors: Callable) -> SimpleNamespace:
    return SimpleNamespace(
        float32="f",
        float64="d",
        tensor=lambda matrix, **_: matrix,
        linalg=SimpleNamespace(svd=lambda matrix, **_: tuple(map(_Part, factors(matrix)))),
    )


def _identity(size: int) -> list[list[float]]:
    return [[float(i == j) for j in range(size)] for i in range(size)]


def _unit_rows(rows: int, columns: int) -> list[list[float]]:
    return [[float(i == j) for j in range(columns)] for i in range(rows)]


@pytest.mark.parametrize(
    ("factors", "good"),
    [
        (lambda m: (m, [1.0] * len(m[0]), _identity(len(m[0]))), ["multiply back", "values"]),
        (
            lambda m: (
                _unit_rows(len(m), min(len(m), len(m[0]))),
                [0.5] * min(len(m), len(m[0])),
                _unit_rows(min(len(m), len(m[0])), len(m[0])),
            ),
            ["orthogonal", "values"],
        ),
        (lambda _: ([[math.nan]], [1.0], [[1.0]]), ["values"]),
        (lambda m: (m, [float(i) for i in range(len(m[0]))], _identity(len(m[0]))), []),
    ],
    ids=["not orthogonal", "of another matrix", "not a number", "not in order"],
)
def test_wrong_factors_fail(factors: Callable, good: list[str]) -> None:
    """Each property fails on its own."""
    findings = svd.run(_subject(factors))

    assert {found["outcome"] for found in findings if not any(word in found["what"] for word in good)} == {
        "failed"
    }
    assert {found["outcome"] for found in findings if any(word in found["what"] for word in good)} <= {
        "passed"
    }


@pytest.mark.torch_wheel
def test_lapack_that_is_not_there_fails(smoke: Callable, torch_python: str, tmp_path: Path) -> None:
    """A build without LAPACK says so when it is asked to compute: that is a failure."""
    (tmp_path / "nolapack.py").write_text(
        "from torch import *\nimport torch\n"
        "class linalg:\n    @staticmethod\n    def svd(*a, **k):\n"
        "        raise RuntimeError('svd: LAPACK library not found in compilation')\n"
    )

    run = smoke("nolapack", "--only", "svd", python=torch_python, isolated=False, PYTHONPATH=str(tmp_path))

    assert ["LAPACK" in found["seen"] for found in run.failed()] == [True]
