"""What a wheel is asked to be."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from torchbuild.inspection.expected import ExpectedWheel


def test_nothing_is_asked_that_nobody_said(expected: ExpectedWheel) -> None:
    """By default requirements are not fixed, nothing may come from outside, no path is forbidden."""
    least = ExpectedWheel(
        distribution="torch", version="2.6.0", python_tag="cp313", machine="x86_64", glibc="2.41"
    )

    assert (least.requires_dist, least.allowed_external, least.forbidden_paths) == (None, (), ())
    assert expected.requires_dist == ("filelock", "sympy==1.13.1")


def test_misspelled_field_is_refused() -> None:
    """A wish that no check reads must not be lost in silence."""
    with pytest.raises(ValidationError):
        ExpectedWheel.model_validate(
            {"distribution": "torch", "version": "1", "glibc": "2.28", "pyton_tag": "cp313"}
        )
