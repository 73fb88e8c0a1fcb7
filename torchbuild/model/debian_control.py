"""Debian's control files: paragraphs of fields, as dpkg and apt write and read them.

The library for them, python-debian, is under the GPL, which we cannot ask of who installs us.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["fields_of", "paragraphs"]

_BETWEEN = re.compile(r"\n(?:[ \t]*\n)+")


def paragraphs(text: str) -> Iterator[dict[str, str]]:
    """The fields of each paragraph."""
    for part in _BETWEEN.split(text):
        if found := fields_of(part):
            yield found


def fields_of(paragraph: str) -> dict[str, str]:
    """Name -> value, as they are written; lines that go on are stripped, each on a line of its own."""
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph.splitlines():
        if line[:1] in {" ", "\t"}:
            fields[name] = f"{fields.get(name, '')}\n{line.strip()}"
        elif line:
            name, _, value = line.partition(":")
            name = name.rstrip()
            fields[name] = value.strip()
    return fields
