"""Findings of a check are findings of the model."""

from __future__ import annotations

import math

import pytest

from torchbuild.model.finding import Finding
from torchbuild.smoke import verdict


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (verdict.passed("smoke-x", "a", 1, 2), "passed"),
        (verdict.failed("smoke-x", "a", "\udcff"), "failed"),
        (verdict.skipped("smoke-x", "why"), "not run"),
        (verdict.within("smoke-x", "a", 1e-9, 1e-8), "passed"),
        (verdict.within("smoke-x", "a", 1e-8, 1e-8), "passed"),
        (verdict.within("smoke-x", "a", 1e-7, 1e-8), "failed"),
        (verdict.within("smoke-x", "a", math.nan, 1e-8), "failed"),
    ],
)
def test_findings_fit_the_model(found: verdict.Finding, outcome: str) -> None:
    """Every finding can be taken as one of the model's, whatever text is in it."""
    assert Finding.model_validate(found).outcome == outcome


def test_exceptions_become_one_bounded_line() -> None:
    """An exception of many lines is told in one."""
    line = verdict.one_line(ValueError("a\nb" * 10_000))

    assert (line.startswith("ValueError: a b"), len(line)) == (True, 500)
