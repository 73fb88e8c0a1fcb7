"""Spans of time as people write them: ``3h``, ``90m``, ``1h30m``, ``45s``."""

from __future__ import annotations

import re

__all__ = ["DURATION_WORDS", "seconds_of"]

DURATION_WORDS = "a time such as 3h, 90m, 1h30m or 45s"

_PARTS = re.compile(r"(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", re.ASCII)
_SECONDS = (86400, 3600, 60, 1)


def seconds_of(text: str) -> int:
    """The number of seconds, more than none.

    Raises:
        ValueError: it is no span of time. A number alone is none: nobody knows of what.
    """
    parts = _PARTS.fullmatch(text.strip().lower().replace(" ", ""))
    counts = [int(part or 0) for part in parts.groups()] if parts else []
    seconds = sum(count * unit for count, unit in zip(counts, _SECONDS, strict=False))
    if not seconds:
        raise ValueError(f"{text!a} is not {DURATION_WORDS}")
    return seconds
