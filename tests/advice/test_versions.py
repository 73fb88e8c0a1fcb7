"""Drivers and toolkits as people write them."""

from __future__ import annotations

import pytest

from torchbuild.advice.versions import at_least, branch_of, minor_of, newest_first, parsed_driver


@pytest.mark.parametrize(
    ("driver", "floor", "is_enough"),
    [
        ("535.129.03", "525.60.13", True),
        ("525.60.13", "525.60.13", True),
        ("525.60", "525.60.13", False),
        ("450.51.05", "450.80.02", False),
        ("450", "450.80.02", True),
        ("565", "570.26", False),
        ("570", "570", True),
        ("570.86.16", "570", True),
    ],
)
def test_a_driver_is_weighed_by_its_numbers(driver: str, floor: str, *, is_enough: bool) -> None:
    """A branch alone stands for its newest release; a release must be as new as the floor."""
    assert at_least(driver, floor) is is_enough


@pytest.mark.parametrize("text", ["", "newest", ">=535", "535.", ".535", "5", "535.1.2.3.4", "५३५", "-535"])
def test_what_is_no_driver_satisfies_nothing(text: str) -> None:
    """What cannot be read as a driver is never taken for one."""
    assert parsed_driver(text) is None
    assert branch_of(text) == 0
    assert not at_least(text, "1")


def test_toolkits_come_newest_first_by_number_and_not_by_letter() -> None:
    """12.10 would be newer than 12.9, and what is no version is last."""
    assert newest_first({"12.9", "12.10", "9.0", "odd"}) == ("12.10", "12.9", "9.0", "odd")
    assert minor_of("12.4.1") == minor_of("12.4") == "12.4"
