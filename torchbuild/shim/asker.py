"""Who asked: a process and those that started it, as they can be told to a person."""

import os
import re
from typing import Any, Dict, List, Optional, Set

__all__ = ["ask_of", "descendants", "describe"]

_MOST_ANCESTORS = 32
_LONGEST = 2000
_CREDENTIALS = re.compile(r"(?<=//)[^/@\s]+(?=@)")


def describe(pid: int) -> Dict[str, Any]:
    """Number, arguments and directory of a process; of a thread, those of its process."""
    leader = int(_status(pid).get("Tgid", pid))
    return {"pid": leader, "argv": _arguments(leader), "cwd": _link("/proc/%d/cwd" % leader)}


def ask_of(pid: int, ours: int) -> Dict[str, Any]:
    """Who asked, and its ancestors from the nearest up to the one that process `ours` started."""
    asker = describe(pid)
    asker["ancestors"] = []
    parent = int(_status(asker["pid"]).get("PPid", 0))
    while parent not in (0, ours) and len(asker["ancestors"]) < _MOST_ANCESTORS:
        asker["ancestors"].append(describe(parent))
        parent = int(_status(parent).get("PPid", 0))
    return asker


def descendants(pid: int) -> Set[int]:
    """Every process below this one that is not yet a zombie."""
    parents: Dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            status = _status(int(name))
            if status and not status.get("State", "").startswith("Z"):
                parents[int(name)] = int(status.get("PPid", 0))
    found: Set[int] = set()
    more = {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - found
        found |= more
    return found


def _status(pid: int) -> Dict[str, str]:
    text = _read("/proc/%d/status" % pid).decode("utf-8", "replace")
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _arguments(pid: int) -> List[str]:
    """A program can write over its arguments; what a person may read is kept, passwords in URLs are not."""
    parts = _read("/proc/%d/cmdline" % pid)[:_LONGEST].decode("utf-8", "replace").rstrip("\0").split("\0")
    return [_CREDENTIALS.sub("***", part) for part in parts]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError:  # it ended while we looked
        return b""


def _link(path: str) -> Optional[str]:
    try:
        return os.readlink(path)
    except OSError:
        return None
