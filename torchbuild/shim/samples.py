"""What is seen while ninja works, as lines of JSON: bounded, however long a build takes."""

import json
import os
from typing import Any, Dict, List, Optional

__all__ = ["MOST_LINES", "Samples"]

MOST_LINES = 2000
"""Where there would be more, every two neighbours become one; from then on half as many are taken."""
_MOST_BYTES = 1 << 20


class Samples:
    """A file of samples; one that an earlier run left is gone on with.

    A line: ``t`` seconds since 1970, ``memory`` bytes, ``running`` edges, and what else is known, such as
    ``tokens`` and ``waiting``.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lines = 0
        self._every, self._left_out = 1, 0
        self._pending = None  # type: Optional[Dict[str, Any]]
        self._lines = self._write(_read(path))

    def add(self, at: float, memory: int, running: Optional[int], **more: int) -> None:
        """Keep a look; where not all are kept, of neighbours the one with most memory.

        What the file system refuses is not kept: no build fails for want of a picture.
        """
        sample = dict(more, t=round(at, 1), memory=memory, running=running)  # type: Dict[str, Any]
        if self._pending is None or memory >= self._pending["memory"]:
            self._pending = sample
        self._left_out += 1
        if self._left_out >= self._every:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._pending is None:
            return
        line = json.dumps(self._pending, sort_keys=True)
        self._pending, self._left_out = None, 0
        try:
            with open(self._path, "a", encoding="utf-8") as handle:
                handle.write(line + "\n")
        except OSError:
            return
        self._lines += 1
        if self._lines >= MOST_LINES:
            self._every *= 2
            self._lines = self._write(_read(self._path))

    def _write(self, lines: List[Dict[str, Any]]) -> int:
        """Put them in the file's place, thinned until they are few; how many there are now."""
        while len(lines) >= MOST_LINES:
            lines = [max(lines[at : at + 2], key=_memory) for at in range(0, len(lines), 2)]
        try:
            with open(self._path + ".tmp", "w", encoding="utf-8") as handle:
                handle.writelines(json.dumps(line, sort_keys=True) + "\n" for line in lines)
            os.replace(self._path + ".tmp", self._path)
        except OSError:
            return 0
        return len(lines)


def _memory(line: Dict[str, Any]) -> int:
    return int(line["memory"])


def _read(path: str) -> List[Dict[str, Any]]:
    """Whole lines alone: a killed run may have left a part of one."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            text = handle.read(_MOST_BYTES)
    except OSError:
        return []
    found = []
    for line in text.split("\n"):
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and type(said.get("memory")) is int:
            found.append(said)
    return found
