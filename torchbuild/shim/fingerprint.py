"""What a build tree is made with, written into it before anything is compiled, and compared before more is.

An object says nothing of the compiler that made it. A tree that goes on with another one, or with other
flags, would hold both, and everything in it would be told of as made with the last.
"""

import hashlib
import json
import os
from typing import Any, Dict, List, Optional

__all__ = ["NAME", "compare"]

NAME = ".torchbuild-fingerprint.json"
"""The file, in the build tree."""
_SCHEMA = 1
_SHOWN = 16
_CHUNK = 1 << 20
State = List[Any]
"""Size, time and inode of a file, and the digest of its bytes."""


def compare(build_dir: str, asked: Dict[str, str], tools: List[str]) -> List[Dict[str, str]]:
    """What differs from when the tree was begun, as findings; none where it is the same, or empty.

    Args:
        build_dir: the build tree.
        asked: what the lock asks for, by name.
        tools: programs and libraries that decide what comes of it, those that may be missing too.
    """
    kept = _read(build_dir)
    before = kept["tools"] if kept else {}
    now = {path: state for path, state in ((path, _state(path, before.get(path))) for path in tools) if state}
    if kept is None:
        if _has_objects(build_dir):
            return [_finding("the build tree does not say what it was made with", "nothing", "a fingerprint")]
        _write(build_dir, asked, now)
        return []
    found = _differences(kept["asked"], asked) + _differences(_digests(before), _digests(now))
    if not found and now != before:  # the same bytes in another file: they are not read again
        _write(build_dir, asked, now)
    return found


def _differences(then: Dict[str, str], now: Dict[str, str]) -> List[Dict[str, str]]:
    return [
        _finding(name, now.get(name, "nothing"), then.get(name, "nothing"))
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    ]


def _finding(what: str, now: str, then: str) -> Dict[str, str]:
    return {"reference": "tree-fingerprint", "outcome": "failed", "what": what, "seen": now, "wanted": then}


def _digests(states: Dict[str, State]) -> Dict[str, str]:
    return {path: "sha256 " + state[-1][:_SHOWN] for path, state in states.items()}


def _state(path: str, before: Optional[State]) -> Optional[State]:
    """Its bytes are read only where size, time or inode are not as they were."""
    try:
        seen = os.stat(path)
        facts = [seen.st_size, seen.st_mtime_ns, seen.st_ino]
        if before is not None and before[:-1] == facts:
            return before
        digest = hashlib.sha256()
        with open(path, "rb") as handle:
            for chunk in iter(lambda: handle.read(_CHUNK), b""):
                digest.update(chunk)
    except OSError:
        return None
    return [*facts, digest.hexdigest()]


def _read(build_dir: str) -> Optional[Dict[str, Any]]:
    try:
        with open(os.path.join(build_dir, NAME), encoding="utf-8") as handle:
            kept = json.load(handle)
        is_ours = kept["schema"] == _SCHEMA and isinstance(kept["asked"], dict)
        return kept if is_ours and all(len(state) > 1 for state in kept["tools"].values()) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _write(build_dir: str, asked: Dict[str, str], tools: Dict[str, State]) -> None:
    """It is on the disk before the first object is."""
    path = os.path.join(build_dir, NAME)
    with open(path + ".tmp", "w", encoding="utf-8") as handle:
        json.dump({"schema": _SCHEMA, "asked": asked, "tools": tools}, handle, indent=1, sort_keys=True)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(path + ".tmp", path)


def _has_objects(build_dir: str) -> bool:
    """Whether ninja noted anything as made, but its own rules."""
    try:
        with open(os.path.join(build_dir, ".ninja_log"), encoding="utf-8", errors="replace") as handle:
            rows = [line.rstrip("\n").split("\t") for line in handle if not line.startswith("#")]
    except OSError:
        return False
    return any(len(row) > 3 and row[3] != "build.ninja" for row in rows)  # noqa: PLR2004  begin, end, time, name
