"""NVIDIA drivers as a recipe writes them: ``>=535``, ``535.129.03``, ``>=525,<580``."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["DRIVER_WORDS", "DriverRange", "parse_driver"]

DRIVER_WORDS = "a driver such as 535 or 535.129.03, or a range such as >=535 or >=525,<580"
"""What may stand there, for messages."""

_NUMBER = r"[1-9][0-9]{2,3}(?:\.[0-9]{1,3}){0,2}"
_DRIVER = re.compile(
    rf"(?P<exact>(?:==)?(?P<only>{_NUMBER}))|>=(?P<lowest>{_NUMBER})(?:, ?<(?P<below>{_NUMBER}))?"
)
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class DriverRange:
    """Drivers that a target may have."""

    lowest: str
    """The oldest: ``535`` for a branch, ``535.129.03`` for a release."""
    below: str = ""
    """The first that is too new; empty for none."""
    is_exact: bool = False
    """Whether it is the lowest one, or its branch, and no newer one."""


def parse_driver(text: str) -> DriverRange:
    """The drivers that a text means.

    Raises:
        ValueError: it means none: no such shape, or nothing lies between its ends.
    """
    found = _DRIVER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise ValueError(f"{text[:_LONGEST]!r} is not {DRIVER_WORDS}")
    if found["exact"]:
        return DriverRange(found["only"], is_exact=True)
    lowest, below = found["lowest"], found["below"] or ""
    if below and _numbers(below) <= _numbers(lowest):
        raise ValueError(f"{text!r}: no driver lies between {lowest} and {below}")
    return DriverRange(lowest, below)


def _numbers(driver: str) -> tuple[int, ...]:
    found = tuple(int(part) for part in driver.split("."))
    return (*found, 0, 0)[:3]
