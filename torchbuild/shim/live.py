"""What runs at this moment, in one small file: for whoever shows a build while it works.

The file is replaced as a whole, about once a second; nothing is kept of what was. What the file system
refuses is not told: no build fails for want of a picture.
"""

import json
import os
import re
import time
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from .admission import Edge
from .processes import Processes, command

__all__ = ["MOST_EDGES", "CacheCount", "Live", "named"]

MOST_EDGES = 12
"""So many are told by name: those that run longest."""
_BETWEEN_S = 1.0
_LONGEST_NAME = 300
_MOST_READ = 1 << 16
_CHUNK = 1 << 20
_OUTPUT = re.compile(r"(?:^|\s)-o\s*(\S+)")
_ARCHIVE = re.compile(r"(?:^|\s)(\S+\.a)(?:\s|$)")
_FIRST = re.compile(r"^(?:/bin/sh -c )?(?:: && |cd \S+ && )*")
_HITS = (b"direct_cache_hit", b"preprocessed_cache_hit", b"cache_hit")
_MISS = b"cache_miss"


class CacheCount:
    """What the compiler cache said so far: its log grows, and only what is new is read."""

    def __init__(self, path: Optional[str]) -> None:
        """Nothing is read yet.

        Args:
            path: of ccache's ``stats_log``; None where no cache is asked.
        """
        self._path, self._at, self._rest = path, 0, b""
        self.hits = self.calls = 0

    def told(self) -> Dict[str, int]:
        """Hits and calls; nothing where no cache is asked."""
        if self._path is None:
            return {}
        try:
            with open(self._path, "rb") as handle:
                handle.seek(self._at)
                got = handle.read(_CHUNK)
        except OSError:
            got = b""
        self._at += len(got)
        lines = (self._rest + got).split(b"\n")
        self._rest = lines.pop()[-_LONGEST_NAME:]
        hits = sum(line in _HITS for line in lines)
        self.hits += hits
        self.calls += hits + lines.count(_MISS)
        return {"hits": self.hits, "calls": self.calls}


class Live:
    """Writes the file."""

    def __init__(self, path: str, statslog: Optional[str] = None) -> None:
        """Nothing is written yet.

        Args:
            path: where the file goes.
            statslog: see `CacheCount`.
        """
        self._path = path
        self._cache = CacheCount(statslog)
        self._told_at = 0.0
        self._names: Dict[int, Tuple[str, float]] = {}

    def is_due(self, now: float) -> bool:
        """Whether the last time is long enough ago."""
        return now - self._told_at >= _BETWEEN_S

    def tell(
        self,
        seen: Processes,
        ninja: int,
        asked: Dict[int, Edge],
        waiting: List[Edge],
        **more: int,
    ) -> None:
        """Write what runs.

        Args:
            seen: all processes.
            ninja: its number; what it started are edges.
            asked: compilers that asked for memory, by the number of who started them.
            waiting: those of them that were not let in yet.
            more: what else is told.
        """
        now = time.monotonic()
        self._told_at = now
        waits = {id(edge) for edge in waiting}
        rows = [_row(edge.name, now - edge.since, waits=id(edge) in waits) for edge in asked.values()]
        rows += self._others(seen, ninja, set(asked), now)
        rows.sort(key=lambda row: -float(row["s"]))
        told = dict(more, edges=rows[:MOST_EDGES], running=len(rows), waiting=len(waiting))
        told.update(self._cache.told())
        self._write(told)

    def end(self) -> None:
        """Nothing runs any more."""
        try:
            os.unlink(self._path)
        except OSError:
            pass

    def _others(self, seen: Processes, ninja: int, asked: Set[int], now: float) -> Iterator[Dict[str, Any]]:
        """Edges that need not ask: links, scripts, what came out of a cache."""
        children = seen.children(ninja) if ninja else []
        pids = {process.pid for process in children}
        self._names = {pid: known for pid, known in self._names.items() if pid in pids}
        for process in children:
            if process.pid in asked or any(below.pid in asked for below in seen.below(process.pid)):
                continue
            name, since = self._names.get(process.pid, ("", now))
            if not name:  # while a program is being loaded it has no arguments
                name = named(command(process.pid, _MOST_READ))
                self._names[process.pid] = (name, since)
            yield _row(name or process.name, now - since)

    def _write(self, told: Dict[str, Any]) -> None:
        try:
            with open(self._path + ".tmp", "w", encoding="utf-8") as handle:
                json.dump(told, handle)
            os.replace(self._path + ".tmp", self._path)
        except OSError:
            pass


def _row(name: str, seconds: float, *, waits: bool = False) -> Dict[str, Any]:
    return {"name": name[-_LONGEST_NAME:], "s": round(seconds, 1), "waits": waits}


def named(line: str) -> str:
    """What a command makes, as far as it says so; else the program and what it is told first."""
    rest = line[_FIRST.match(line).end() :]  # type: ignore[union-attr]
    match = _OUTPUT.search(rest) or _ARCHIVE.search(rest)
    if match is not None:
        return match.group(1)
    return " ".join(_short(word) for word in _beginning(rest.split()))


def _beginning(words: List[str]) -> Iterable[str]:
    """A program, and of an interpreter's the script."""
    return words[:1] + [word for word in words[1:] if not word.startswith("-")][:1]


def _short(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2]
