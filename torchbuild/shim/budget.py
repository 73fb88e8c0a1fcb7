"""How much memory is left for compilers: of the machine, and of every control group that we are in.

What counts is what the kernel cannot give back: a group's page cache is no reason to wait. Each look is a new
one: limits are set, and changed, while a build runs.
"""

import os
from typing import Dict, NamedTuple, Optional

from .control_groups import group_folders

__all__ = ["Budget", "Room"]

_KIB = 1024
_NO_LIMIT = 1 << 60
"""From here on a number is version 1's way to say that there is none."""
_STRICT = "2"
"""The kernel's word for promising no more memory than there is: then what was promised counts."""
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
        own, mounts = self._text("proc/self/cgroup"), self._text("proc/self/mountinfo")
        folders = group_folders(own, mounts, "memory")
        self._groups = [(folder.lstrip("/"), is_first) for folder, is_first in folders]

    def room(self) -> Room:
        """What there is now."""
        told = _fields(self._text("proc/meminfo"))
        total = told.get("MemTotal", 0) * _KIB
        available = told.get("MemAvailable", told.get("MemFree", 0)) * _KIB
        if self._text("proc/sys/vm/overcommit_memory").strip() == _STRICT:
            promised = (told.get("CommitLimit", 0) - told.get("Committed_AS", 0)) * _KIB
            available = min(available, max(0, promised))
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

    def _limit(self, folder: str, *, is_first: bool) -> Optional[int]:
        """The smallest that holds; one of version 1 also knows those of groups that we cannot see."""
        names = ("memory.limit_in_bytes",) if is_first else ("memory.max", "memory.high")
        texts = [self._text(os.path.join(folder, name)).strip() for name in names]
        numbers = [int(text) for text in texts if text.isdigit()]
        if is_first and numbers:
            numbers.append(self._stat(folder).get("hierarchical_memory_limit", _NO_LIMIT))
        return min((number for number in numbers if number < _NO_LIMIT), default=None)

    def _held(self, folder: str, *, is_first: bool) -> int:
        """What the kernel cannot give back; where it does not tell, all that is used."""
        told = self._stat(folder)
        if not told:
            name = "memory.usage_in_bytes" if is_first else "memory.current"
            text = self._text(os.path.join(folder, name)).strip()
            return int(text) if text.isdigit() else 0
        if is_first:
            return told.get("total_rss", told.get("rss", 0)) + told.get("total_shmem", told.get("shmem", 0))
        names = ("anon", "shmem", "kernel_stack", "pagetables", "slab_unreclaimable")
        return sum(told.get(name, 0) for name in names)

    def _stat(self, folder: str) -> Dict[str, int]:
        return _fields(self._text(os.path.join(folder, "memory.stat")))

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
