"""Drivers as a recipe writes them."""

from __future__ import annotations

import pytest

from torchbuild.model.driver import DriverRange, parse_driver


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("535", DriverRange("535", is_exact=True)),
        ("==535", DriverRange("535", is_exact=True)),
        ("535.129.03", DriverRange("535.129.03", is_exact=True)),
        ("==535.129.03", DriverRange("535.129.03", is_exact=True)),
        ("390.157", DriverRange("390.157", is_exact=True)),
        (">=535", DriverRange("535")),
        (">=525,<580", DriverRange("525", "580")),
        (">=525.60.13, <580", DriverRange("525.60.13", "580")),
    ],
)
def test_a_driver_is_one_or_a_range(text: str, expected: DriverRange) -> None:
    """One release, one branch, or all from one on, perhaps up to another."""
    assert parse_driver(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " 535",
            "535 ",
            ">535",
            "<580",
            "<=535",
            "~=535",
            "!=535",
            "r535",
            "535.x",
            "v535",
            "latest",
            "53",
            "535.",
            "1" * 99,
        ),
        *(
            ">=535,",
            ">=535,>=550",
            "<580,>=525",
            "==535,<580",
            "535,550",
            ">=535 <580",
            ">=580,<525",
            ">=535,<535",
            "535\n",
            "٥٣٥",
        ),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """A range without a lowest driver says nothing of what the wheel must run on."""
    with pytest.raises(ValueError, match=r"driver"):
        parse_driver(text)
