"""A file on a server, read where it is wanted: the parts of an archive without the whole of it."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from torchbuild.edges.locators import without_credentials
from torchbuild.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchbuild.edges.web import Part, Web

__all__ = ["Ranged", "open_ranged"]

_BLOCK = 4 << 20


class Ranged(io.RawIOBase):
    """A file that can be read and sought. Every part must be of the version that was there first.

    Attributes:
        asked_bytes: how much was transferred so far.
    """

    def __init__(self, part: Callable[[int, int], bytes], size: int) -> None:
        """Ask for nothing yet.

        Args:
            part: gives the bytes from a place to another, the second not included.
            size: bytes of the file.
        """
        super().__init__()
        self._part = part
        self._size = size
        self._at = 0
        self.asked_bytes = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: object) -> int:
        """The next bytes, as many as the buffer takes."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]  # whatever io hands over is a buffer
        end = min(self._at + len(view), self._size)
        if end <= self._at:
            return 0
        found = self._part(self._at, end)
        view[: len(found)] = found
        self._at += len(found)
        self.asked_bytes += len(found)
        return len(found)


def open_ranged(web: Web, url: str) -> io.BufferedReader | None:
    """A file on a server; None where the server sends files whole only.

    Raises:
        FetchError: ``not-found``, ``not-reachable`` and the others of `Web.part`; when it is read also
            ``changed-meanwhile``.
    """
    first = web.part(url, 0, 1)
    if not first.body:
        return None

    def part(start: int, stop: int) -> bytes:
        found = web.part(url, start, stop)
        if (len(found.body), found.total, found.version) != (stop - start, first.total, first.version):
            raise _changed(url, found, first)
        return found.body

    return io.BufferedReader(Ranged(part, first.total), _BLOCK)


def _changed(url: str, seen: Part, wanted: Part) -> FetchError:
    return FetchError(
        "changed-meanwhile",
        f"{without_credentials(url)}: not the same file any more",
        why=(
            f"seen: {seen.total} bytes, version {seen.version or 'unknown'}",
            f"wanted: {wanted.total} bytes, version {wanted.version or 'unknown'}",
        ),
        fix="Run the same command again.",
    )
