"""What a process prints, cut into lines, however the bytes arrive."""

from __future__ import annotations

import re

__all__ = ["LineSplitter"]

_LONGEST_LINE = 1 << 16
_LINE_END = re.compile(rb"\r\n|\n|\r")


class LineSplitter:
    """Bytes in, lines out. What a line may hold is bounded, so that memory is too."""

    def __init__(self) -> None:
        self._rest = b""
        self._return: str | None = None
        """What a carriage return at the very end ended: None where there was none."""

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that `chunk` completes, without their ends; a carriage return is an end.

        An empty line that a carriage return ends is a progress display's and is dropped.
        """
        lines: list[str] = []
        if self._return is not None and chunk.startswith(b"\n"):
            # One line end, cut in two by the pipe; an empty line is only now known to be one.
            lines = [""] if self._return == "" else []
            chunk = chunk[1:]
        data = self._rest + chunk
        start = 0
        line = b""
        for match in _LINE_END.finditer(data):
            line = data[start : match.start()]
            if line or match.group() != b"\r":
                lines += _pieces(line)
            start = match.end()
        self._return = line.decode(errors="replace") if data.endswith(b"\r") else None
        rest = data[start:]
        whole = len(rest) - len(rest) % _LONGEST_LINE
        self._rest = rest[whole:]
        return lines + (_pieces(rest[:whole]) if whole else [])

    def end(self) -> list[str]:
        """The last line, where it had no end."""
        rest, self._rest = self._rest, b""
        return _pieces(rest) if rest else []


def _pieces(line: bytes) -> list[str]:
    cuts = range(0, max(len(line), 1), _LONGEST_LINE)
    return [line[cut : cut + _LONGEST_LINE].decode(errors="replace") for cut in cuts]
