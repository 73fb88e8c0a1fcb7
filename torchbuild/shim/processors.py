"""How many processors a build has: those that it may run on, and the time that its control groups get."""

import math
import os
from typing import Optional

from .control_groups import group_folders

__all__ = ["processors", "quota_told"]

_WORDS = 2


def processors(root: str = "/") -> int:
    """As many jobs keep them busy; what cannot be read limits nothing.

    Args:
        root: where ``proc`` and ``sys`` are.
    """
    found = float(len(os.sched_getaffinity(0)))
    folders = group_folders(_text(root, "proc/self/cgroup"), _text(root, "proc/self/mountinfo"), "cpu")
    for folder, is_first in folders:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if is_first else ("cpu.max",)
        quota = quota_told(" ".join(_text(root, folder.lstrip("/"), name).strip() for name in names))
        if quota is not None:
            found = min(found, quota)
    return max(1, math.ceil(found))


def quota_told(text: str) -> Optional[float]:
    """Processors in ``150000 100000``; None for ``max 100000``, ``-1 100000`` and anything else."""
    words = text.split()
    if len(words) != _WORDS or not all(word.isdecimal() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])


def _text(*parts: str) -> str:
    try:
        with open(os.path.join(*parts), encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""
