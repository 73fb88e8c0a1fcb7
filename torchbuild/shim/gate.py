"""The configure gate: what CMake made of the request, compared with what was asked for.

Asked is not got: a CMake option can be rewritten, shadowed or dropped without a word. The gate
reads the cache back before one object is compiled.
"""

import os
import re
from typing import Any, Collection, Dict, List, Mapping

from .cache import Entry, is_true

__all__ = ["compare"]

Finding = Dict[str, str]


def compare(cache: Mapping[str, Entry], expectations: List[Dict[str, Any]]) -> List[Finding]:
    """The findings of each expectation, in order. `expectations` are the lock's, as JSON objects."""
    named = {item["key"] for item in expectations if item["kind"] in _BY_NAME}
    findings = []  # type: List[Finding]
    for item in expectations:
        if item["kind"] == "only":
            findings += _only(cache, item, named)
        elif item["kind"] == "found":
            findings += _found(cache, item)
        else:
            findings.append(_COMPARE[item["kind"]](cache, item))
    return findings


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


def _state(entry: "Entry | None") -> str:
    """What ``if(NAME)`` makes of it; an entry that is hidden or not there is off."""
    if entry is None or entry.type in ("INTERNAL", "STATIC"):
        return "OFF"
    return "ON" if is_true(entry.value) else "OFF"


def _switch(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    """By truth. cmake_dependent_option leaves what the user set as INTERNAL when it is not in force."""
    entry = cache.get(item["key"])
    state = _state(entry)
    if state == "ON" and entry is not None and entry.type == "UNINITIALIZED":
        # CMake leaves this type where no option() or set() knows the name: what stands here is our own -D
        return _finding(item, False, "no option of this tree: %s" % _shown(entry))
    return _finding(item, state == item["value"], "%s: %s" % (state, _shown(entry)))


def _option(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    """By truth, and there: the tree surely declares it, so one that is hidden or gone is another tree's."""
    entry = cache.get(item["key"])
    there = entry is not None and entry.type not in ("INTERNAL", "STATIC")
    return _finding(item, there and _state(entry) == item["value"], "%s: %s" % (_state(entry), _shown(entry)))


def _exact(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    finding = _text(cache, item)
    return finding if item["key"] in cache else dict(finding, outcome="failed")


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


def _each(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    finding = _every(cache, item)
    return finding if _matching(cache, item) else dict(finding, outcome="not run")


def _lacking(entries: Mapping[str, Entry], item: Dict[str, Any]) -> Dict[str, Entry]:
    return {name: entry for name, entry in entries.items() if item["value"] not in entry.value}


def _every_contains(cache: Mapping[str, Entry], item: Dict[str, Any]) -> Finding:
    entries = _matching(cache, item)
    wrong = _lacking(entries, item)
    finding = _finding(item, not wrong, _list(wrong or entries) or "no entry")
    return finding if entries else dict(finding, outcome="not run")


def _only(cache: Mapping[str, Entry], item: Dict[str, Any], named: Collection[str]) -> List[Finding]:
    """What nobody expected, each by its name: whoever adds an option to a tree must say what it shall be."""
    unexpected = {name: entry for name, entry in _matching(cache, item).items() if name not in named}
    if not unexpected:
        return [_finding(item, True, "each of %d entries is expected" % len(_matching(cache, item)))]
    return [
        {
            "reference": item["reference"],
            "outcome": "failed",
            "what": "%s (nobody expected it)" % name,
            "seen": "%s: %s" % (_state(entry), _shown(entry)),
            "wanted": "an expectation for each entry",
        }
        for name, entry in unexpected.items()
    ]


def _found(cache: Mapping[str, Entry], item: Dict[str, Any]) -> List[Finding]:
    """What CMake looked for and did not find stays in its cache, and the build goes on without it."""
    benign = re.compile(item["value"])
    missing = {
        name: entry
        for name, entry in _matching(cache, item).items()
        if (entry.value == "NOTFOUND" or entry.value.endswith("-NOTFOUND")) and not benign.fullmatch(name)
    }
    if not missing:
        return [dict(_finding(item, True, "all was found"), wanted="no NOTFOUND")]
    return [
        {
            "reference": item["reference"],
            "outcome": "failed",
            "what": "%s (looked for)" % name,
            "seen": _shown(entry),
            "wanted": "a path",
        }
        for name, entry in missing.items()
    ]


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
    "option": _option,
    "exact": _exact,
    "text": _text,
    "path": _path,
    "every": _every,
    "every-contains": _every_contains,
    "contains": _contains,
    "within": _within,
    "each": _each,
}
_BY_NAME = ("switch", "option", "text", "exact", "path")
