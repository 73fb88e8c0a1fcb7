"""Outcomes of checks."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from torchbuild.model.finding import Finding, failures, reasons


def test_only_failures_fail() -> None:
    """A warning or a check that was not run is told, and is neither a failure nor a success."""
    outcomes = ("passed", "failed", "warned", "not run", "failed")
    findings = tuple(
        Finding.model_validate({"reference": "a-check", "outcome": outcome, "what": str(number)})
        for number, outcome in enumerate(outcomes)
    )

    assert [item.what for item in failures(findings)] == ["1", "4"]


@pytest.mark.parametrize("outcome", ["", "skipped", "PASSED", None, True])
def test_there_is_no_third_state(outcome: object) -> None:
    """An outcome is one of four words."""
    with pytest.raises(ValidationError):
        Finding.model_validate({"reference": "a-check", "outcome": outcome, "what": "x"})


def test_an_error_names_the_check_that_explains_it() -> None:
    """Who reads the error can ask ``explain`` for what stands in brackets."""
    wrong = Finding(reference="a-check", outcome="failed", what="a file", seen="none", wanted="one")

    assert reasons((wrong,)) == ("[a-check] a file: seen none, wanted one",)
