"""What ninja prints while it works: how many edges of how many, and what each makes."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["NinjaLine", "parse_line"]

_EDGE = re.compile(r"^\[(\d{1,9})/(\d{1,9})\] (.*)$")
_MADE = re.compile(r" -o (\S+)")
_DESCRIBED = ("Building ", "Linking ", "Generating ")
_LONGEST_WHAT = 80


class NinjaLine(NamedTuple):
    """One edge that has ended, or one that talks to the terminal and has begun."""

    number: int
    """How many there were with it."""
    total: int
    """How many there will be."""
    what: str
    """What it makes, where its description or its command says so; else how that begins."""


def parse_line(text: str) -> NinjaLine | None:
    """None for a line that is none of ninja's own."""
    match = _EDGE.match(text)
    if match is None:
        return None
    edge = match[3]
    made = _MADE.search(edge)
    if edge.startswith(_DESCRIBED):
        what = edge.rpartition(" ")[2]
    else:
        what = made[1] if made else edge[:_LONGEST_WHAT]
    return NinjaLine(int(match[1]), int(match[2]), what)
