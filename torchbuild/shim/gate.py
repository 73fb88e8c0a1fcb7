"""The configure gate: what CMake made of the request, compared with what was asked for.

Asked is not got: a CMake option can be rewritten, shadowed or dropped without a word. The gate
reads the cache back before one object is compiled.
"""

import os
import re
from typing import Any, Dict, List, Mapping

from .cache import Entry, is_true

__all__ = ["compare"]

Finding = Dict[str, str]


def compare(cache: Mapping[str, Entry], expectations: List[Dict[str, Any]]) -> List[Finding]:
    """One finding an expectation, in order. `expectations` are the lock's, as JSON objects."""
    return [_COMPARE[item["kind"]](cache, item) for item in expectations]


def _finding(item: Dict[str, Any], passed: bool, seen: str) -> Finding:  # noqa: FBT001
    return {
        "reference": item["reference"],
        "outcome": "passed" if passed else "failed",
        "what": "%s (%s)" % (item["key"], item["why"]),
        "seen": seen,
        "wanted": item["value"],
    }


def _shown(entry: "Entry | None") -> str:
    return "no entry" if entry is None else "%s (%s)" % (entry.value or "nothing", entry.type)


def _switch(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    """By truth. cmake_dependent_option leaves what the user set as INTERNAL when it is not in force."""
    entry = cache.get(item["key"])
    if entry is None or entry.type in ("INTERNAL", "STATIC"):
        return _finding(item, item["value"] == "OFF", "OFF: " + _shown(entry))
    state = "ON" if is_true(entry.value) else "OFF"
    if state == "ON" and entry.type == "UNINITIALIZED":
        # CMake leaves this type where no option() or set() knows the name: what stands here is our own -D
        return _finding(item, False, "no option of this tree: %s" % _shown(entry))
    return _finding(item, state == item["value"], "%s: %s" % (state, _shown(entry)))


def _text(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    entry = cache.get(item["key"])
    return _finding(item, (entry.value if entry is not None else "") == item["value"], _shown(entry))


def _path(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    entry = cache.get(item["key"])
    same = entry is not None and os.path.normpath(entry.value) == os.path.normpath(item["value"])
    return _finding(item, same, _shown(entry))


def _matching(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Dict[str, Entry]:
    pattern = re.compile(item["key"])
    return {name: entry for name, entry in sorted(cache.items()) if pattern.fullmatch(name)}


def _list(entries: Mapping[str, Entry]) -> str:
    return ", ".join("%s=%s" % (name, entry.value or "nothing") for name, entry in entries.items())


def _every(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    entries = _matching(cache, item)
    wanted = os.path.normpath(item["value"])
    wrong = {name: entry for name, entry in entries.items() if os.path.normpath(entry.value or ".") != wanted}
    return _finding(item, bool(entries) and not wrong, _list(wrong or entries) or "no entry")


def _lacking(entries: Mapping[str, Entry], item: Dict[str, Any]) -> Dict[str, Entry]:
    return {name: entry for name, entry in entries.items() if item["value"] not in entry.value}


def _every_contains(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    entries = _matching(cache, item)
    wrong = _lacking(entries, item)
    return _finding(item, not wrong, _list(wrong or entries) or "no entry")


def _contains(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    entries = _matching(cache, item)
    wrong = _lacking(entries, item)
    return _finding(item, bool(entries) and not wrong, _list(wrong or entries) or "no entry")


def _within(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    entries = _matching(cache, item)
    below = os.path.normpath(item["value"]) + "/"
    wrong = {
        name: entry
        for name, entry in entries.items()
        if not (os.path.normpath(entry.value or ".") + "/").startswith(below)
    }
    return _finding(item, bool(entries) and not wrong, _list(wrong or entries) or "no entry")


_COMPARE = {
    "switch": _switch,
    "text": _text,
    "path": _path,
    "every": _every,
    "every-contains": _every_contains,
    "contains": _contains,
    "within": _within,
}
