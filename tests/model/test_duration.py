"""Spans of time."""

from __future__ import annotations

import pytest

from torchbuild.model.duration import seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3h", 10800),
        ("90m", 5400),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("45s", 45),
        ("2d", 172800),
        ("1D2H", 93600),
        ("0h5m", 300),
        (" 10m ", 600),
    ],
)
def test_spans_are_read_as_people_write_them(text: str, seconds: int) -> None:
    """Hours and minutes, together or alone."""
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "3", "0h", "30m1h", "-1h", "1.5h", "3 hours", "h", "1h1h", "९h", "9" * 9 + "s"]
)
def test_what_may_mean_another_span_is_refused(text: str) -> None:
    """A number alone, nothing, and what no clock knows."""
    with pytest.raises(ValueError, match="is not a time such as 3h"):
        seconds_of(text)
