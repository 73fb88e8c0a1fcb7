"""Sizes as people write them: ``20 GiB``, ``500 MB``, ``1.5TiB``, ``1048576``."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import StringConstraints

__all__ = ["BYTE_SIZE", "BYTE_SIZE_WORDS", "ByteSize", "bytes_of"]

BYTE_SIZE = r"^[0-9]{1,15}(\.[0-9]{1,3})? ?([kKMGT]i?)?B?$"
BYTE_SIZE_WORDS = "a size such as 20 GiB, 500 MB or a number of bytes"

ByteSize = Annotated[str, StringConstraints(pattern=BYTE_SIZE)]

_PARTS = re.compile(r"([0-9.]+) ?(?:([kKMGT])(i?))?B?")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def bytes_of(size: str) -> int:
    """The number of bytes. With an ``i`` powers of 1024, without it powers of 1000.

    Raises:
        ValueError: it is no size.
    """
    parts = _PARTS.fullmatch(size) if re.fullmatch(BYTE_SIZE, size) else None
    if parts is None:
        raise ValueError(f"{size!a} is not {BYTE_SIZE_WORDS}")
    number, letter, binary = parts.groups(default="")
    return int(float(number) * (1024 if binary else 1000) ** _POWERS[letter.upper()])
