"""Reading CMakeCache.txt."""

import re
from typing import Dict, NamedTuple

__all__ = ["Entry", "is_true", "parse_cache"]

_LINE = re.compile(
    r'^[ \t]*(?:"(?P<quoted>[^"]+)"|(?P<plain>[^:=\s"][^:=]*)):(?P<type>[A-Za-z_]+)=(?P<value>.*)$', re.DOTALL
)
_FALSE = {"", "0", "OFF", "NO", "FALSE", "N", "IGNORE"}


class Entry(NamedTuple):
    """One cache entry."""

    type: str
    """BOOL, STRING, PATH, FILEPATH, UNINITIALIZED, INTERNAL or STATIC."""
    value: str


def parse_cache(text: str) -> Dict[str, Entry]:
    """Every entry by name, the last one where there are several. Comments (`#`, `//`) are passed over."""
    entries = {}
    for line in text.split("\n"):  # a value may hold what Python also takes for the end of a line
        if line.startswith(("#", "//")):
            continue
        match = _LINE.match(line.rstrip(" \t\r"))
        if match is not None:
            name = match.group("quoted") or match.group("plain")
            entries[name] = Entry(match.group("type"), _unquoted(match.group("value")))
    return entries


def _unquoted(value: str) -> str:
    """CMake puts a value that ends in space between single quotes."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "'" else value


def is_true(value: str) -> bool:
    """What ``if(NAME)`` makes of a variable with this value: all is true that is not a false constant."""
    return not (value.upper() in _FALSE or value == "NOTFOUND" or value.endswith("-NOTFOUND"))
