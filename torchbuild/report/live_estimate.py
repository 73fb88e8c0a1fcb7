"""The estimate of a build that runs: ninja's own log is read again now and then, and says what edges took."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from torchbuild.report.build_graph import parse_build_ninja
from torchbuild.report.cache_calls import outcomes_by_object, parse_statslog
from torchbuild.report.cache_outcomes import CacheOutcomes
from torchbuild.report.edge_times import learned
from torchbuild.report.estimate import Checkpoint, Forecast, errors_at, undone
from torchbuild.report.expected import Expected
from torchbuild.report.ninja_log import LogEdge, LogRun, UnreadableLogError, parse_ninja_log

__all__ = ["BUILD_NINJA", "NINJA_LOG", "LiveEstimate", "runs_of"]

NINJA_LOG = ".ninja_log"
"""Of ninja, in a build tree."""
BUILD_NINJA = "build.ninja"
"""What waits for what, in a build tree."""
_LEAST_EDGES = 30
"""A build of fewer is over before anybody would ask, and reading its graph would make it longer."""
_LOOKS = 100
_LEAST_BETWEEN_S = 2.0
"""Nobody reads an estimate more often, and making one costs as much as a small edge."""
_LOOKED_AT_FIRST = 10
"""Where a cache has all, nobody can know it before some edges have been looked up."""
_LEAST_S = 10.0
"""What took less is no measure of an estimate."""


def runs_of(text: str | None) -> tuple[LogRun, ...]:
    """The runs in a log; none where there is no log that can be read."""
    try:
        return parse_ninja_log(text or "").runs
    except UnreadableLogError:
        return ()


class LiveEstimate:
    """Of all calls of ninja in one build tree. It may be asked from several threads.

    Args:
        read: the text of a file of the build tree, or None.
        expected: what edges should take.
        has_cache: whether compilers ask a cache.
        jobs: how many may run at once; 0 where that is not known.
        target: what was asked for alone.
        running: what runs now, and for how long it has, as far as that is known.
        statslog: what the cache has said until now.
    """

    def __init__(
        self,
        read: Callable[[str], str | None],
        expected: Expected,
        *,
        has_cache: bool,
        jobs: int = 0,
        target: str | None = None,
        running: Callable[[], Mapping[str, float]] = dict,
        statslog: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._read = read
        self._expected = expected
        self._target = target
        self._running, self._statslog = running, statslog
        self._outcomes = CacheOutcomes()
        self._has_cache = has_cache
        self._jobs = jobs
        before = runs_of(read(NINJA_LOG))
        self._before = {run.began_ms for run in before}
        self._made = {edge.output for run in before for edge in run.edges}
        self._forecast: Forecast | None = None
        self._offset, self._head, self._looked, self._total = 0, "", 0, 0
        self._lock = threading.Lock()
        self._said: list[Checkpoint] = []
        self._earlier: tuple[list[Checkpoint], float, int] = ([], 0.0, 0)

    def again(self) -> float | None:
        """What is left now, though no edge has ended: those that run take longer, and it is known which."""
        with self._lock:
            forecast = self._forecast
            if forecast is None or not forecast.done:
                return None
            return forecast.left(self._total, self._running())

    def edge(self, number: int, total: int) -> float | None:
        """Ninja says that it is so far: how many seconds are left; None while nobody can know it."""
        with self._lock:
            return self._edge(number, total)

    def _edge(self, number: int, total: int) -> float | None:
        if total < _LEAST_EDGES:
            return None
        if self._forecast is None or number < self._looked:
            self._begin(total)
        elif number - self._looked >= max(total // _LOOKS, 1) or number == total:
            self._go_on()
        else:
            return None
        self._looked, self._total = number, total
        return None if self._forecast is None else self._say(self._forecast, total, is_end=number == total)

    def _say(self, forecast: Forecast, total: int, *, is_end: bool) -> float | None:
        is_early = bool(self._said) and forecast.now - self._said[-1].at < _LEAST_BETWEEN_S
        if not forecast.done or (is_early and not is_end):
            return None
        left = 0.0 if is_end else forecast.left(total, self._running())
        if left is not None:
            self._said.append(Checkpoint(forecast.now, forecast.done, left))
        return left

    def _begin(self, total: int) -> None:
        """A call of ninja has begun."""
        self._earlier = self._longest()
        self._said = []
        self._forecast = None
        graph = parse_build_ninja(self._read(BUILD_NINJA) or "")
        text = self._read(NINJA_LOG) or ""
        new = [run for run in runs_of(text) if run.began_ms not in self._before]
        made = self._made | {edge.output for run in new[:-1] for edge in run.edges}
        outputs = undone(graph, made, total, self._target)
        if not outputs:
            return
        self._forecast = Forecast(
            outputs, expected=self._expected, graph=graph, has_cache=self._has_cache, jobs=self._jobs
        )
        self._head = text.partition("\n")[0]
        self._offset = _whole(text)
        self._take(self._forecast, new[-1].edges if new else ())

    def _go_on(self) -> None:
        """Take what was added to the log: ninja writes a line when an edge has ended."""
        text = self._read(NINJA_LOG) or ""
        end = _whole(text)
        if self._forecast is None or end < self._offset:
            return
        for run in runs_of(f"{self._head}\n{text[self._offset : end]}"):
            self._take(self._forecast, run.edges)
        self._offset = end

    def _take(self, forecast: Forecast, edges: Sequence[LogEdge]) -> None:
        """With what the cache said of them, where it did."""
        if self._has_cache:
            self._outcomes.take(self._statslog() or "")
        forecast.take(edges, self._outcomes.of(edge.output for edge in edges))

    def _longest(self) -> tuple[list[Checkpoint], float, int]:
        """Of the call of ninja that took longest: what was said, when it ended, and its edges."""
        forecast = self._forecast
        if forecast is None or forecast.now <= self._earlier[1]:
            return self._earlier
        return self._said, forecast.now, forecast.total

    def errors(self) -> dict[int, float]:
        """After the end: how wrong it was when 25, 50 and 75 % of the time had passed; see `errors_at`."""
        said, end, _ = self._longest()
        return errors_at(said, end) if end >= _LEAST_S else {}

    def early_error(self) -> float | None:
        """After the end: how wrong it was after a tenth of the edges, of the whole time."""
        said, end, total = self._longest()
        early = next((point for point in said if point.done >= total / _LOOKED_AT_FIRST), None)
        if early is None or end < _LEAST_S:
            return None
        return (early.at + early.left - end) / end

    def evidence(self) -> dict[str, str]:
        """Both, for a report; nothing of a build that was over at once."""
        found = {f"estimate_error_at_{at}": f"{error:+.0%}" for at, error in self.errors().items()}
        early = self.early_error()
        return found if early is None else {"estimate_error_at_first": f"{early:+.0%}", **found}

    def learned(self, statslog: str) -> str | None:
        """For the next build: what edges take, by what ninja did since this began; None where it did nothing.

        Args:
            statslog: what the compiler's cache said.
        """
        edges = self._ran()
        outcomes = outcomes_by_object(parse_statslog(statslog), [edge.output for edge in edges])
        return learned(self._expected, edges, outcomes, has_cache=self._has_cache) if edges else None

    def made(self) -> tuple[str, ...]:
        """Outputs of edges that ran since this began."""
        return tuple(edge.output for edge in self._ran())

    def _ran(self) -> list[LogEdge]:
        runs = [run for run in runs_of(self._read(NINJA_LOG)) if run.began_ms not in self._before]
        return [edge for run in runs for edge in run.edges]


def _whole(text: str) -> int:
    """Up to where lines are complete."""
    return text.rfind("\n") + 1
