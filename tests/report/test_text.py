"""Quantities and foreign text, as people see them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.report.text import duration, printable, size


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0.0 s"),
        (-1, "0.0 s"),
        (2.14, "2.1 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (751, "12 min 31 s"),
        (3599.6, "1 h 00 min"),
        (4020, "1 h 07 min"),
        (360000, "100 h 00 min"),
    ],
)
def test_wall_time_is_said_in_two_units_at_most(seconds: float, said: str) -> None:
    """A time is as exact as a person needs it."""
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (188_000_000, "179.3 MiB"),
        (5 * 2**30, "5.0 GiB"),
        (3 * 2**40, "3.0 TiB"),
    ],
)
def test_bytes_are_said_in_the_unit_that_leaves_few_digits(count: int, said: str) -> None:
    """A size is readable at a glance."""
    assert size(count) == said


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\ttext ✓ ä", "plain\ttext ✓ ä"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bcreset", "reset"),
        ("10 %\r20 %\r\n", "20 %"),
        ("a\nb", "a b"),
        ("a\u202egnp.exe\u2069", "agnp.exe"),
        ("\x9b31mred", "31mred"),
        ("nul\x00byte", "nulbyte"),
        ("\x1b]52;c;never ended", ""),
    ],
)
def test_a_line_cannot_drive_the_terminal(raw: str, shown: str) -> None:
    """What a tool printed is shown without its power over the terminal."""
    assert printable(raw) == shown


@given(st.text())
def test_no_control_character_is_ever_left(text: str) -> None:
    """Whatever comes in, one printable line comes out."""
    assert not [
        char for char in printable(text) if (ord(char) < 32 and char != "\t") or 0x7F <= ord(char) < 0xA0
    ]
