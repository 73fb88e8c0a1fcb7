"""How long a compilation will still take: from what its edges took before, and from what they take now.

What an edge is expected to take is what it took in an earlier build (`Expected.learned`), else what its
folder takes now, else a guess for its kind. What is left is divided among the slots that run, and is never
less than the longest way through it.
"""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from torchbuild.report.build_graph import BuildGraph
from torchbuild.report.cache_calls import source_of
from torchbuild.report.ninja_log import LogEdge
from torchbuild.report.timeline import kind_of

__all__ = ["Checkpoint", "Expected", "Forecast", "errors_at", "replay", "undone"]

_GUESSES = {"object": 6.0, "device": 40.0, "link": 2.0, "other": 1.0}
"""Seconds, before anything is known; only their proportions count for long."""
_OBJECTS = ("object", "device")
"""What compilers make."""
_RECENT_SHARE, _RECENT_LEAST = 0.1, 40
"""What was made last tells most about what comes."""
_HIT = 0.25
"""An edge that takes less of what it should, while a cache is asked, came from the cache."""
_QUICK_S = 0.3
"""And one that takes less than this, whatever it should take."""
_FIRM = 0.01
"""Share of all expected work after which the ratio seen counts as much as the one expected."""
_FOLDER_FIRM = 3
"""Edges of a folder after which their mean counts as much as the guess."""
_ENOUGH = 64
"""Edges by which the number of slots is known."""
_FIRST = 5
"""Edges before anything is said where nothing was learned."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """What edges should take."""

    learned: Mapping[str, float] = field(default_factory=dict)
    """Seconds by output, as an earlier build with this compiler measured them, nothing out of a cache."""
    cached: Mapping[str, float] = field(default_factory=dict)
    """The same, where it came out of the compiler's cache."""
    guess: Callable[[str], float] = lambda output: _GUESSES[kind_of(output)]
    """For all others."""

    def of(self, output: str) -> float:
        """Seconds."""
        known = self.learned.get(output)
        return self.guess(output) if known is None else known


class Checkpoint(NamedTuple):
    """What was said at a moment."""

    at: float
    """Seconds since ninja began."""
    done: int
    """Edges done."""
    left: float
    """Seconds that were said to be left."""


class _Seen(NamedTuple):
    seconds: float
    expected: float
    is_learned: bool
    is_hit: bool
    is_object: bool
    cached: float


class Forecast:
    """Of one run of ninja.

    Args:
        outputs: first outputs of the edges that will run.
        expected: what they should take.
        graph: who waits for whom, where it is known.
        has_cache: whether compilers ask a cache.
        jobs: how many may run at once; 0 where that is not known.
    """

    def __init__(
        self,
        outputs: Iterable[str],
        *,
        expected: Expected,
        graph: BuildGraph | None = None,
        has_cache: bool = False,
        jobs: int = 0,
    ) -> None:
        self._expected = expected
        self._graph = graph
        self._has_cache = has_cache
        self._left = {output: expected.of(output) for output in outputs}
        self._all = sum(self._left.values())
        self.total = len(self._left)
        """Edges in all."""
        self.done = 0
        """Edges done."""
        self.now = 0.0
        """When the last one ended."""
        self._recent: deque[_Seen] = deque(maxlen=max(_RECENT_LEAST, round(self.total * _RECENT_SHARE)))
        self._folders: dict[str, list[float]] = {}
        self._spans: deque[tuple[int, int]] = deque(maxlen=4 * _ENOUGH)
        self._jobs = max(jobs, 1)

    def take(self, edges: Iterable[LogEdge]) -> None:
        """Edges that have ended, in the order in which they did."""
        for edge in edges:
            expected = self._left.pop(edge.output, None)
            self.done += 1
            self.now = max(self.now, edge.end_ms / 1000)
            self._spans.append((edge.start_ms, edge.end_ms))
            if expected is None:  # nobody thought that it would run
                expected = self._expected.of(edge.output)
            is_object = _is_object(edge.output)
            is_hit = self._has_cache and is_object and edge.seconds < max(_HIT * expected, _QUICK_S)
            is_learned = edge.output in self._expected.learned
            cached = self._expected.cached.get(edge.output, 0.0)
            self._recent.append(_Seen(edge.seconds, expected, is_learned, is_hit, is_object, cached))
            if not is_learned and not is_hit:
                told = self._folders.setdefault(_folder(edge.output), [0, 0.0])
                told[0] += 1
                told[1] += edge.seconds

    def _slots(self) -> int:
        """How many run at once: as many as did among the last ones, or as many as are allowed."""
        moments = sorted(
            moment for start, end in self._spans for moment in ((start, 1), (end, -1))
        )  # at one moment those that end come first
        most = now = 0
        for _, change in moments:
            now += change
            most = max(most, now)
        is_known = len(self._spans) >= min(_ENOUGH, 4 * self._jobs)
        return most if is_known else max(most, self._jobs)

    def left(self, total: int = 0) -> float | None:
        """Seconds that are left; None while nobody can know it.

        Args:
            total: edges in all, as ninja counts them; the number that was expected where it is 0.
        """
        rest = max((total or self.total) - self.done, 0)
        if rest == 0:
            return 0.0
        if not self._left or (self.done < _FIRST and not self._expected.learned):
            return None
        seconds = self._scaled()
        more = rest / len(seconds)
        slots = self._slots()
        # those that run now are half done
        mean = sum(item.seconds for item in self._recent) / len(self._recent) if self._recent else 0.0
        begun = (slots - 1) * mean / 2

        def divided(work: float) -> float:
            return max(work * more - begun, work * more / 2) / slots

        return max(divided(sum(seconds.values())), self._ends(seconds, divided))

    def _scaled(self) -> dict[str, float]:
        """What each that is left will take, by what the last ones took."""
        ratios = {
            (is_learned, is_object): self._ratio(is_learned=is_learned, is_object=is_object)
            for is_learned in (True, False)
            for is_object in (True, False)
        }
        hits = [item for item in self._recent if item.is_hit]
        # by work, not by number: a large one that is compiled costs as much as many that are not
        objects = sum(item.expected for item in self._recent if item.is_object)
        rate = sum(item.expected for item in hits) / objects if objects else 0.0
        hit = sum(item.seconds for item in hits) / len(hits) if hits else 0.0
        known = [item for item in hits if item.cached]
        drift = sum(item.seconds for item in known) / sum(item.cached for item in known) if known else 1.0
        found = {}
        for output, expected in self._left.items():
            is_learned, is_object = output in self._expected.learned, _is_object(output)
            seconds = expected * ratios[is_learned, is_object]
            if not is_learned:
                count, spent = self._folders.get(_folder(output), (0, 0.0))
                seconds = (_FOLDER_FIRM * seconds + spent) / (_FOLDER_FIRM + count)
            if rate and is_object:
                cached = self._expected.cached.get(output)
                seconds = (1 - rate) * seconds + rate * (hit if cached is None else cached * drift)
            found[output] = seconds
        return found

    def _ratio(self, *, is_learned: bool, is_object: bool) -> float:
        """What was taken for what was expected, of what came from no cache."""
        sort = (is_learned, is_object, False)
        seen = [item for item in self._recent if (item.is_learned, item.is_object, item.is_hit) == sort]
        firm = _FIRM * self._all
        taken = sum(item.seconds for item in seen) + firm
        return taken / (sum(item.expected for item in seen) + firm) if firm else 1.0

    def _ends(self, seconds: Mapping[str, float], divided: Callable[[float], float]) -> float:
        """When the last edges end: each of the longest way begins when all that it needs is done."""
        if self._graph is None:
            return 0.0
        makers = self._graph.makers
        by_edge = {makers[name]: value for name, value in seconds.items() if name in makers}
        way = self._graph.longest(by_edge)
        rest = sum(by_edge[edge] for edge in way)
        latest, work = rest, 0.0
        needed: set[int] = set()
        for edge in way:
            new = self._graph.closure((edge,), known=needed)
            work += sum(by_edge.get(item, 0.0) for item in new)
            needed |= new
            latest = max(latest, divided(work - by_edge[edge]) + rest)
            rest -= by_edge[edge]
        return latest


@lru_cache(maxsize=1 << 17)
def _folder(output: str) -> str:
    return posixpath.dirname(source_of(output))


@lru_cache(maxsize=1 << 17)
def _is_object(output: str) -> bool:
    return kind_of(output) in _OBJECTS


def undone(graph: BuildGraph, before: Iterable[str], total: int) -> list[str]:
    """First outputs of what will run, as far as that can be told.

    Args:
        graph: of the build tree.
        before: outputs that earlier runs made.
        total: how many edges ninja says it will run.
    """
    wanted = [graph.outputs[edge][0] for edge in sorted(graph.closure()) if not graph.is_phony[edge]]
    made = set(before)
    new = [output for output in wanted if output not in made]
    return new if abs(len(new) - total) < abs(len(wanted) - total) else wanted


def replay(forecast: Forecast, edges: Sequence[LogEdge], *, every: int = 1) -> list[Checkpoint]:
    """What it would have said after each edge of a run that is over."""
    found = []
    for number, edge in enumerate(sorted(edges, key=lambda edge: edge.end_ms), 1):
        forecast.take([edge])
        left = forecast.left(len(edges)) if number % every == 0 else None
        if left is not None:
            found.append(Checkpoint(forecast.now, number, left))
    return found


def errors_at(
    said: Sequence[Checkpoint], end: float, shares: Sequence[float] = (0.25, 0.5, 0.75)
) -> dict[int, float]:
    """How wrong it was when these shares of the time had passed: of what was left then, in percent.

    0.1 says that it took a tenth less than what was said.
    """
    found = {}
    for share in shares:
        before = [point for point in said if point.at <= share * end]
        if before:
            point = before[-1]
            real = end - point.at
            found[round(share * 100)] = (point.left - real) / real
    return found
