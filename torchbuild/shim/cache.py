"""Reading CMakeCache.txt."""

import re
from typing import Dict, NamedTuple

__all__ = ["Entry", "is_true", "parse_cache"]

_LINE = re.compile(r'^(?:"(?P<quoted>[^"]+)"|(?P<plain>[^:=\s"][^:=]*)):(?P<type>[A-Za-z_]+)=(?P<value>.*)$')
_TRUE = {"1", "ON", "YES", "TRUE", "Y"}


class Entry(NamedTuple):
    """One cache entry."""

    type: str
    """BOOL, STRING, PATH, FILEPATH, UNINITIALIZED, INTERNAL or STATIC."""
    value: str


def parse_cache(text: str) -> Dict[str, Entry]:
    """Every entry by name. Comments (`#`, `//`) are passed over."""
    entries = {}
    for line in text.splitlines():
        if line.startswith(("#", "//")):
            continue
        match = _LINE.match(line.strip())
        if match is not None:
            name = match.group("quoted") or match.group("plain")
            entries[name] = Entry(match.group("type"), match.group("value"))
    return entries


def is_true(value: str) -> bool:
    """CMake's truth: 1, ON, YES, TRUE, Y, or a number that is not zero."""
    folded = value.strip().upper()
    if folded in _TRUE:
        return True
    try:
        return float(folded) != 0
    except ValueError:
        return False
