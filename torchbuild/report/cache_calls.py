"""What the compiler's cache said of each call: ccache's ``stats_log``, joined with the edges of ninja.

Of sccache's calls our shim writes the same, with ``cache_hit`` and ``cache_miss``.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

__all__ = ["CacheCall", "Outcome", "outcomes_by_object", "parse_statslog", "source_of"]

Outcome = Literal["hit", "miss", "other", "mixed"]
"""``other``: an error, or a call that no cache takes; ``mixed``: calls of one source that differ."""
_HITS = frozenset({"direct_cache_hit", "preprocessed_cache_hit", "cache_hit"})
_MOST_CALLS = 1_000_000
_OBJECT = re.compile(r"\.(?:o|obj)$")


class CacheCall(NamedTuple):
    """One call of a compiler."""

    source: str
    """What was compiled."""
    outcome: Outcome
    """What the cache made of it."""


def parse_statslog(text: str) -> tuple[CacheCall, ...]:
    """Each call: a line ``# SOURCE``, and the counters that it raised, one a line."""
    calls: list[CacheCall] = []
    source, words = "", set[str]()
    for line in (*text.split("\n"), "# "):
        if not line.startswith("# "):
            words.add(line)
            continue
        if source and len(calls) < _MOST_CALLS:
            calls.append(CacheCall(source, _outcome(words)))
        source, words = line[2:], set()
    return tuple(calls)


def _outcome(words: set[str]) -> Outcome:
    if words & _HITS:
        return "hit"
    return "miss" if "cache_miss" in words else "other"


def source_of(output: str) -> str:
    """The source's path in its tree, out of an object's: ``X/CMakeFiles/T.dir/__/a/b.cpp.o``.

    There ``__`` stands for ``..`` and the path begins at ``X``. What is no object stays as it is.
    """
    name = _OBJECT.sub("", output)
    if name == output:
        return output
    base, is_cmake, tail = name.partition("CMakeFiles/")
    if not is_cmake or ".dir/" not in tail:
        return name
    parts = [".." if part == "__" else part for part in tail.partition(".dir/")[2].split("/")]
    path = posixpath.normpath(posixpath.join(base, *(part for part in parts if part)))
    while path.startswith("../"):
        path = path[3:]
    return path


def outcomes_by_object(calls: Iterable[CacheCall], outputs: Iterable[str]) -> Mapping[str, Outcome]:
    """What became of each object whose source was asked for; those that nobody can tell are left out."""
    by_name: dict[str, list[CacheCall]] = defaultdict(list)
    for call in calls:
        by_name[call.source.rpartition("/")[2]].append(call)
    found: dict[str, Outcome] = {}
    for output in outputs:
        source = source_of(output)
        seen = {
            call.outcome
            for call in by_name.get(source.rpartition("/")[2], ())
            if f"/{call.source}".endswith(f"/{source}")
        }
        if seen and source != output:
            found[output] = seen.pop() if len(seen) == 1 else "mixed"
    return found
