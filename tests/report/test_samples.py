"""What the shim saw, read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.report.samples import Sample, parse_samples


def test_samples_are_read_by_time() -> None:
    """Tokens and waiting compilers are there where somebody managed them."""
    text = (
        '{"t": 12.5, "memory": 7, "running": 2, "tokens": 4, "waiting": 1}\n'
        '{"t": 2, "memory": 5, "running": null}\n'
    )

    assert parse_samples(text) == (Sample(2000, 5, None, None, None), Sample(12500, 7, 2, 4, 1))


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "3", '{"t": 1}', '{"t": -1, "memory": 2}', '{"t": true, "memory": 2}', '{"t": 1e99, "memory": 2}',
     '{"t": NaN, "memory": 2}', '{"t": "1", "memory": 2}', '{"t": 1, "memory": 2, "x": "' + "y" * 600 + '"}', "[" * 400],
)  # fmt: skip
def test_what_cannot_be_is_passed_over(line: str) -> None:
    """A line that was cut off, or that something else wrote, is no sample."""
    assert len(parse_samples(f'{line}\n{{"t": 1, "memory": 2}}\n')) == 1


@given(st.text())
def test_no_text_brings_it_down(text: str) -> None:
    """Whatever it is."""
    assert all(sample.memory >= 0 for sample in parse_samples(text))
