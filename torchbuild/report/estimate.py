"""How long a compilation will still take: from what its edges took before, and from what they take now.

What an edge is expected to take is what it took in an earlier build (`Expected.learned`), else what facts
tell of its like. `EdgeSpeed` samples what they take in this build. What is left is then run through as ninja
would, on as many slots as there are: so the longest way counts as much as the sum of the work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from torchbuild.report.build_graph import BuildGraph
from torchbuild.report.cache_calls import Outcome
from torchbuild.report.edge_speed import EdgeSpeed
from torchbuild.report.expected import Expected
from torchbuild.report.ninja_log import LogEdge
from torchbuild.report.schedule import Schedule, remaining

__all__ = ["Checkpoint", "Forecast", "errors_at", "replay", "undone"]

_RECENT = 256
"""Edges by which the number of slots is known."""
_SELDOM = 0.1
"""What was seen for less of the time is no slot."""
_FIRST = 5
"""Edges before anything is said where nothing was learned."""
_NO_OUTCOMES: Mapping[str, Outcome] = {}
_NOTHING: Mapping[str, float] = {}


class Checkpoint(NamedTuple):
    """What was said at a moment."""

    at: float
    """Seconds since ninja began."""
    done: int
    """Edges done."""
    left: float
    """Seconds that were said to be left."""


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
        self._left = {output: expected.of(output) for output in outputs}
        self._speed = EdgeSpeed(expected, self._left, has_cache=has_cache)
        self._makers = graph.makers if graph else {}
        known = [self._makers[output] for output in self._left if output in self._makers]
        self._schedule = Schedule(graph, known) if graph and known else None
        self.total = len(self._left)
        """Edges in all."""
        self.done = 0
        """Edges done."""
        self.now = 0.0
        """When the last one ended."""
        self._spans: deque[tuple[int, int]] = deque(maxlen=_RECENT)
        self._jobs = jobs

    def take(self, edges: Iterable[LogEdge], outcomes: Mapping[str, Outcome] = _NO_OUTCOMES) -> None:
        """Edges that have ended, in the order in which they did.

        Args:
            edges: of ninja's log.
            outcomes: what the compiler's cache said of them, as far as it did.
        """
        for edge in edges:
            self._left.pop(edge.output, None)
            self.done += 1
            self.now = max(self.now, edge.end_ms / 1000)
            self._spans.append((edge.start_ms, edge.end_ms))
            self._speed.note(edge.output, edge.seconds, outcomes.get(edge.output))

    def _slots(self) -> int:
        """How many run at once: as many as may; where nobody tells that, as many as did among the last ones.

        Ninja notes an end when it sees it: on a busy machine two that follow each other seem to overlap.
        """
        if self._jobs:
            return self._jobs
        moments = sorted(moment for start, end in self._spans for moment in ((start, 1), (end, -1)))
        spent: dict[int, int] = {}
        now = before = 0
        for at, change in moments:
            spent[now] = spent.get(now, 0) + at - before
            now, before = now + change, at
        least = _SELDOM * sum(time for count, time in spent.items() if count)
        return max((count for count, time in spent.items() if count and time >= least), default=1)

    def left(self, total: int = 0, running: Mapping[str, float] = _NOTHING) -> float | None:
        """Seconds that are left; None while nobody can know it.

        Args:
            total: edges in all, as ninja counts them; the number that was expected where it is 0.
            running: edges that run, and for how long they have, as far as that is known.
        """
        rest = max((total or self.total) - self.done, 0)
        if rest == 0:
            return 0.0
        if not self._left or (self.done < _FIRST and not self._expected.learned):
            return None
        seconds = self._speed.now(self._left)
        slots = self._slots()
        # those that are not known take their share; so many of those that are known will not run
        more = rest / len(seconds)
        if self._schedule is None:
            return more * _by_work(seconds, slots, running)
        by_edge = {self._makers[name]: value for name, value in seconds.items() if name in self._makers}
        runs = {
            self._makers[name]: ran
            for name, ran in running.items()
            if name in self._left and name in self._makers
        }
        return more * self._schedule.end(by_edge, slots, runs)


def _by_work(seconds: Mapping[str, float], slots: int, running: Mapping[str, float]) -> float:
    """Where nobody knows who waits for whom: no slot stands idle, and the longest edge is the least."""
    rest = {name: remaining(took, running.get(name, 0.0)) for name, took in seconds.items()}
    return max(sum(rest.values()) / slots, *rest.values())


def undone(graph: BuildGraph, before: Iterable[str], total: int, target: str | None = None) -> list[str]:
    """First outputs of what will run, as far as that can be told.

    Args:
        graph: of the build tree.
        before: outputs that earlier runs made.
        total: how many edges ninja says it will run.
        target: what was asked for alone.
    """
    asked = (graph.makers[target],) if target is not None and target in graph.makers else ()
    wanted = [graph.outputs[edge][0] for edge in sorted(graph.closure(asked)) if not graph.is_phony[edge]]
    made = set(before)
    new = [output for output in wanted if output not in made]
    return new if abs(len(new) - total) < abs(len(wanted) - total) else wanted


def replay(
    forecast: Forecast,
    edges: Sequence[LogEdge],
    *,
    every: int = 1,
    outcomes: Mapping[str, Outcome] = _NO_OUTCOMES,
) -> list[Checkpoint]:
    """What it would have said after each edge of a run that is over."""
    found = []
    by_start = deque(sorted(edges, key=lambda edge: edge.start_ms))
    running: dict[str, int] = {}
    for number, edge in enumerate(sorted(edges, key=lambda edge: edge.end_ms), 1):
        while by_start and by_start[0].start_ms <= edge.end_ms:
            begun = by_start.popleft()
            running[begun.output] = begun.start_ms
        running.pop(edge.output, None)
        forecast.take([edge], outcomes)
        if number % every == 0:
            runs = {name: (edge.end_ms - start) / 1000 for name, start in running.items()}
            left = forecast.left(len(edges), runs)
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
