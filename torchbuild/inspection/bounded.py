"""A file of a stranger, read in small pieces at offsets that the file itself names, within bounds.

Pieces are read, not mapped: a file that becomes shorter meanwhile is an error and not the end of the process,
and what was read is counted.
"""

from __future__ import annotations

import os

__all__ = ["BoundedFile", "MalformedError"]

_AHEAD = 512
_LONGEST = 1 << 20
_MOST_STEPS = 8_000_000
"""A static library of three hundred template-heavy objects has some millions of sections."""


class MalformedError(Exception):
    """The file is not what its own headers say. Whoever opened the file tells it in his own words."""


class BoundedFile:
    """One open file.

    Attributes:
        size: its bytes.
        read_bytes: how many of them were read so far.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._block = b""
        self._block_at = 0
        self._steps = _MOST_STEPS
        self.size = os.fstat(descriptor).st_size
        self.read_bytes = 0
        # what is wanted lies far apart: reading ahead would read all of a library
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)

    def at(self, position: int, size: int) -> bytes:
        """`size` bytes at `position`.

        Raises:
            MalformedError: they are not all in the file.
        """
        if position < 0 or not 0 <= size <= _LONGEST:
            raise MalformedError(f"{size} bytes wanted at {position}")
        if position + size > self.size:
            raise MalformedError(f"cut off: {self.size} bytes are there, its headers name {position + size}")
        begin = position - self._block_at
        if not 0 <= begin <= len(self._block) - size:
            self._block = os.pread(self._descriptor, max(size, _AHEAD), position)
            self._block_at, begin = position, 0
            self.read_bytes += len(self._block)
        piece = self._block[begin : begin + size]
        if len(piece) != size:
            raise MalformedError("it became shorter while it was read")
        return piece

    def step(self, weight: int = 1) -> None:
        """One header more was looked at, which costs as much as so many sections stepped over.

        Raises:
            MalformedError: it has more of them than any real file.
        """
        self._steps -= weight
        if self._steps < 0:
            raise MalformedError(f"more than {_MOST_STEPS} headers")
