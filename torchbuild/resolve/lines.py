"""Where a key stands in a TOML text, for messages. The standard parser gives no positions."""

from __future__ import annotations

import re

__all__ = ["key_lines"]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(dotted)]


def key_lines(text: str) -> dict[str, int]:
    """Line, counted from 1, of each table and key: ``{"source.overlay[0].to": 12}``.

    Good for messages only: keys inside inline tables and multi-line strings get the line of
    what encloses them.
    """
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    prefix = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header is not None:
            prefix = ".".join(_parts(header[2]))
            if header[1] == "[[":
                index = counts.get(prefix, 0)
                counts[prefix] = index + 1
                prefix = f"{prefix}[{index}]"
            found.setdefault(prefix, number)
            continue
        key = _KEY.match(line)
        if key is not None:
            path = ".".join(([prefix] if prefix else []) + _parts(key[1]))
            found.setdefault(path, number)
    return found
