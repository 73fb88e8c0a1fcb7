"""What edges take now, beside what they were expected to take: sampled while a build works.

By kind of edge, because a linker is not slowed down by what slows compilers down; by folder where nothing was
learned; what came out of a compiler's cache apart, because it says nothing about what does not.
"""

from __future__ import annotations

import math
import posixpath
from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from torchbuild.report.cache_calls import Outcome, source_of
from torchbuild.report.expected import Expected
from torchbuild.report.timeline import kind_of

__all__ = ["EdgeSpeed"]

_OBJECTS = ("object", "device")
"""What compilers make."""
_FORGET = 0.5
"""Share of the work after which what was seen counts a third: machines become busy, and idle again."""
_FIRM_LEARNED, _FIRM_GUESSED = 0.05, 0.01
"""Share of the work that must be seen before it counts as much as what was expected."""
_FIRM_S = 5.0
"""The same of links and scripts, in seconds: where a cache has all, they are what is left."""
_FIRM_HITS_LEARNED, _FIRM_HITS_GUESSED = 0.2, 0.1
"""The same of what comes out of the cache."""
_FIRM_EDGES = 3.0
"""The same of a folder, in edges."""
_RECENT_SHARE, _RECENT_LEAST = 0.1, 40
"""What was made last tells most about what a cache still has."""
_FOLDER_HITS = 8.0
"""Edges of a folder whose hits count as much as those of all that were made last."""
_HIT, _QUICK_S = 0.25, 0.3
"""Where the cache does not tell: a hit takes less of what it should, or less than this whatever it should."""


class _Sort(NamedTuple):
    is_learned: bool
    is_object: bool
    kind: str


class _Ratio:
    """Taken for expected, of what was seen lately."""

    def __init__(self, work: float, firm: float) -> None:
        self._forget, self._firm = _FORGET * work, firm
        self._taken = self._expected = 0.0

    def note(self, taken: float, expected: float) -> None:
        kept = math.exp(-expected / self._forget) if self._forget else 0.0
        self._taken, self._expected = kept * self._taken + taken, kept * self._expected + expected

    def value(self, before: float) -> float:
        """With what is thought before anything is seen."""
        whole = self._expected + self._firm
        return (self._taken + before * self._firm) / whole if whole else before


class EdgeSpeed:
    """Of one run of ninja.

    Args:
        expected: what edges should take.
        left: the same, of those that will run.
        has_cache: whether compilers ask a cache.
    """

    def __init__(self, expected: Expected, left: Mapping[str, float], *, has_cache: bool) -> None:
        self._expected, self._has_cache = expected, has_cache
        work: dict[_Sort, float] = {}
        for output, seconds in left.items():
            sort = self._sort(output)
            work[sort] = work.get(sort, 0.0) + seconds
        self._sorts = {
            sort: _Ratio(seconds, _firm(is_learned=sort.is_learned) * seconds)
            for sort, seconds in work.items()
        }
        self._wholes: dict[tuple[bool, bool], _Ratio] = {}
        for is_learned, is_object in product((True, False), repeat=2):
            whole = sum(took for sort, took in work.items() if sort[:2] == (is_learned, is_object))
            firm = _firm(is_learned=is_learned) * whole if is_object else min(_FIRM_S, whole)
            self._wholes[is_learned, is_object] = _Ratio(whole, firm)
        self._folders: dict[str, list[float]] = {}
        self._hits: deque[bool] = deque(maxlen=max(_RECENT_LEAST, round(len(left) * _RECENT_SHARE)))
        self._folder_hits: dict[str, list[int]] = {}
        hits: dict[bool, float] = {True: 0.0, False: 0.0}
        for output in left:
            if _is_object(output):
                hits[output in expected.cached] += expected.of_hit(output)
        self._hit_ratio = {
            is_known: _Ratio(work, work * (_FIRM_HITS_LEARNED if is_known else _FIRM_HITS_GUESSED))
            for is_known, work in hits.items()
        }

    def _sort(self, output: str) -> _Sort:
        kind = self._expected.kind(output)
        return _Sort(output in self._expected.learned, _is_object(output), kind)

    def note(self, output: str, seconds: float, outcome: Outcome | None) -> None:
        """An edge has ended.

        Args:
            output: what it made.
            seconds: what it took.
            outcome: what the cache said; None where it did not.
        """
        expected, sort = self._expected.of(output), self._sort(output)
        if self._has_cache and _is_object(output) and self._is_hit(output, seconds, expected, outcome):
            self._hit_ratio[output in self._expected.cached].note(seconds, self._expected.of_hit(output))
            return
        self._wholes[sort.is_learned, sort.is_object].note(seconds, expected)
        if sort in self._sorts:
            self._sorts[sort].note(seconds, expected)
        if not sort.is_learned:
            told = self._folders.setdefault(_folder(output), [0.0, 0.0, 0.0])
            told[0] += 1
            told[1] += seconds
            told[2] += expected

    def _is_hit(self, output: str, seconds: float, expected: float, outcome: Outcome | None) -> bool:
        """As the cache says, else as it looks; and note it."""
        is_quick = seconds < max(_HIT * expected, _QUICK_S)
        is_hit = outcome == "hit" if outcome in ("hit", "miss") else is_quick
        self._hits.append(is_hit)
        seen = self._folder_hits.setdefault(_folder(output), [0, 0])
        seen[0] += is_hit
        seen[1] += 1
        return is_hit

    def now(self, outputs: Mapping[str, float]) -> dict[str, float]:
        """What each of these will take.

        Args:
            outputs: edges, and what they were expected to take.
        """
        ratios = self._ratios()
        recent = sum(self._hits) / len(self._hits) if self._hits else 0.0
        hit = {is_known: ratio.value(1.0) for is_known, ratio in self._hit_ratio.items()}
        found = {}
        for output, expected in outputs.items():
            sort = self._sort(output)
            seconds = expected * ratios[sort]
            if not sort.is_learned:
                seconds *= self._folder_ratio(output, seconds, ratios[sort])
            if recent and _is_object(output):
                rate = self._rate(output, recent)
                from_cache = self._expected.of_hit(output) * hit[output in self._expected.cached]
                seconds = (1 - rate) * seconds + rate * min(from_cache, seconds)
            found[output] = seconds
        return found

    def _ratios(self) -> dict[_Sort, float]:
        """Of each kind: what all together show, until enough of it was seen."""
        objects = self._wholes[True, True].value(1.0)
        others = self._wholes[True, False].value(objects)
        guessed = self._wholes[False, True].value(objects)
        whole = {
            (True, True): objects,
            (True, False): others,
            (False, True): guessed,
            (False, False): self._wholes[False, False].value(others if self._expected.learned else guessed),
        }
        return {sort: ratio.value(whole[sort[:2]]) for sort, ratio in self._sorts.items()}

    def _folder_ratio(self, output: str, seconds: float, ratio: float) -> float:
        count, taken, expected = self._folders.get(_folder(output), (0.0, 0.0, 0.0))
        if not count:
            return 1.0
        firm = _FIRM_EDGES * seconds
        return (taken + firm) / (expected * ratio + firm) if firm else 1.0

    def _rate(self, output: str, recent: float) -> float:
        """How probable a hit is: as among the last ones, and as in its folder."""
        hits, count = self._folder_hits.get(_folder(output), (0, 0))
        return (hits + recent * _FOLDER_HITS) / (count + _FOLDER_HITS)


def _firm(*, is_learned: bool) -> float:
    return _FIRM_LEARNED if is_learned else _FIRM_GUESSED


@lru_cache(maxsize=1 << 17)
def _is_object(output: str) -> bool:
    return kind_of(output) in _OBJECTS


@lru_cache(maxsize=1 << 17)
def _folder(output: str) -> str:
    return posixpath.dirname(source_of(output))
