"""Drivers, toolkits and compilers as people write them, so that they can be compared."""

from __future__ import annotations

import re

from packaging.version import Version

__all__ = ["at_least", "branch_of", "minor_of", "newest_first", "parsed_driver"]

_DRIVER = re.compile(r"[0-9]{2,4}(\.[0-9]{1,4}){0,3}")
_ANY = 10**9


def parsed_driver(text: str) -> tuple[int, ...] | None:
    """``535`` or ``535.129.03`` as numbers; None where it is neither.

    A branch alone stands for its newest release: who says 525 has one of it that is kept up to date.
    """
    if not _DRIVER.fullmatch(text):
        return None
    numbers = tuple(int(part) for part in text.split("."))
    return (*numbers, _ANY) if len(numbers) == 1 else numbers


def at_least(driver: str, floor: str) -> bool:
    """Whether a driver is as new as a floor; one that cannot be read is not."""
    have, want = parsed_driver(driver), parsed_driver(floor)
    if have is None or want is None:
        return False
    return have >= (want[:-1] if want[-1] == _ANY else want)


def branch_of(driver: str) -> int:
    """The branch: 535 of ``535.129.03``; 0 of what cannot be read."""
    parsed = parsed_driver(driver)
    return parsed[0] if parsed else 0


def minor_of(release: str) -> str:
    """``12.4`` of ``12.4.1`` and of ``12.4``."""
    return ".".join(release.split(".")[:2])


def newest_first(releases: set[str] | frozenset[str]) -> tuple[str, ...]:
    """Releases, newest first; what cannot be read comes last."""
    return tuple(sorted(releases, key=_key, reverse=True))


def _key(release: str) -> tuple[Version, str]:
    try:
        return Version(release), release
    except ValueError:  # InvalidVersion is one; so is a number of thousands of digits
        return Version("0"), release
