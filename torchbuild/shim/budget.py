"""How much memory is left for compilers: of the machine, and of every control group that we are in.

What counts is what the kernel cannot give back: a group's page cache is no reason to wait.
"""

import os
from typing import Dict, Iterator, NamedTuple, Optional, Tuple

from .control_groups import group_folders

__all__ = ["Budget", "Room"]

_KIB = 1024
_NO_LIMIT = 1 << 60
"""From here on a number is version 1's way to say that there is none."""
_RESERVED = 0.08
"""Of the memory; kept free for what is not foreseen."""
_MOST_RESERVED = 4 << 30


class Room(NamedTuple):
    """Bytes, at one moment."""

    total: int
    """The machine's, or the smallest limit."""
    available: int
    """What can still be taken, nothing reserved."""

    @property
    def reserve(self) -> int:
        """What is to stay free."""
        return min(int(self.total * _RESERVED), _MOST_RESERVED)


class Budget:
    """Knows the groups that limit us; looks at them each time."""

    def __init__(self, root: str = "/") -> None:
        """Find them.

        Args:
            root: where ``proc`` and ``sys`` are.
        """
        self._root = root
        self._groups = list(self._limited())

    def room(self) -> Room:
        """What there is now."""
        told = _fields(self._text("proc/meminfo"))
        total = told.get("MemTotal", 0) * _KIB
        available = told.get("MemAvailable", told.get("MemFree", 0)) * _KIB
        for folder, is_first in self._groups:
            limit = self._limit(folder, is_first=is_first)
            if limit is not None:
                total = min(total, limit)
                available = min(available, max(0, limit - self._held(folder, is_first=is_first)))
        return Room(total, available)

    def limit(self) -> Optional[int]:
        """The smallest limit that is set on us; None for none."""
        limits = [self._limit(folder, is_first=is_first) for folder, is_first in self._groups]
        return min((limit for limit in limits if limit is not None), default=None)

    def _limited(self) -> Iterator[Tuple[str, bool]]:
        """Our group and those above it that limit us, and which version each is of."""
        own, mounts = self._text("proc/self/cgroup"), self._text("proc/self/mountinfo")
        for folder, is_first in group_folders(own, mounts, "memory"):
            inside = folder.lstrip("/")
            if self._limit(inside, is_first=is_first) is not None:
                yield inside, is_first

    def _limit(self, folder: str, *, is_first: bool) -> Optional[int]:
        names = ("memory.limit_in_bytes",) if is_first else ("memory.max", "memory.high")
        numbers = [self._text(os.path.join(folder, name)).strip() for name in names]
        known = [int(number) for number in numbers if number.isdigit() and int(number) < _NO_LIMIT]
        return min(known) if known else None

    def _held(self, folder: str, *, is_first: bool) -> int:
        """What the kernel cannot give back."""
        told = _fields(self._text(os.path.join(folder, "memory.stat")))
        if is_first:
            return told.get("total_rss", told.get("rss", 0)) + told.get("total_shmem", told.get("shmem", 0))
        names = ("anon", "shmem", "kernel_stack", "pagetables", "slab_unreclaimable")
        return sum(told.get(name, 0) for name in names)

    def _text(self, path: str) -> str:
        try:
            with open(os.path.join(self._root, path), encoding="utf-8", errors="replace") as handle:
                return handle.read()
        except OSError:
            return ""


def _fields(text: str) -> Dict[str, int]:
    """Names and numbers of ``MemTotal:  12 kB`` or ``anon 12``."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[1].isdigit():
            found[words[0].rstrip(":")] = int(words[1])
    return found
