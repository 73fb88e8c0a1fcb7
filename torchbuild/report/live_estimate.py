"""The estimate of a build that runs: ninja's own log is read again now and then, and says what edges took."""

from __future__ import annotations

from collections.abc import Callable

from torchbuild.report.build_graph import parse_build_ninja
from torchbuild.report.cache_calls import outcomes_by_object, parse_statslog
from torchbuild.report.edge_times import learned
from torchbuild.report.estimate import Checkpoint, Expected, Forecast, errors_at, undone
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
_LEAST_S = 10.0
"""What took less is no measure of an estimate."""


def runs_of(text: str | None) -> tuple[LogRun, ...]:
    """The runs in a log; none where there is no log that can be read."""
    try:
        return parse_ninja_log(text or "").runs
    except UnreadableLogError:
        return ()


class LiveEstimate:
    """Of all calls of ninja in one build tree.

    Args:
        read: the text of a file of the build tree, or None.
        expected: what edges should take.
        has_cache: whether compilers ask a cache.
        jobs: how many may run at once; 0 where that is not known.
    """

    def __init__(
        self, read: Callable[[str], str | None], expected: Expected, *, has_cache: bool, jobs: int = 0
    ) -> None:
        self._read = read
        self._expected = expected
        self._has_cache = has_cache
        self._jobs = jobs
        before = runs_of(read(NINJA_LOG))
        self._before = {run.began_ms for run in before}
        self._made = {edge.output for run in before for edge in run.edges}
        self._forecast: Forecast | None = None
        self._offset, self._head, self._looked = 0, "", 0
        self._said: list[Checkpoint] = []

    def edge(self, number: int, total: int) -> float | None:
        """Ninja says that it is so far: how many seconds are left; None while nobody can know it."""
        if total < _LEAST_EDGES:
            return None
        if self._forecast is None or number < self._looked:
            self._begin(total)
        elif number - self._looked >= max(total // _LOOKS, 1) or number == total:
            self._go_on()
        else:
            return None
        self._looked = number
        return None if self._forecast is None else self._say(self._forecast, total, is_end=number == total)

    def _say(self, forecast: Forecast, total: int, *, is_end: bool) -> float | None:
        is_early = bool(self._said) and forecast.now - self._said[-1].at < _LEAST_BETWEEN_S
        if not forecast.done or (is_early and not is_end):
            return None
        left = 0.0 if is_end else forecast.left(total)
        if left is not None:
            self._said.append(Checkpoint(forecast.now, forecast.done, left))
        return left

    def _begin(self, total: int) -> None:
        """A call of ninja has begun."""
        self._said = []
        self._forecast = None
        graph = parse_build_ninja(self._read(BUILD_NINJA) or "")
        text = self._read(NINJA_LOG) or ""
        new = [run for run in runs_of(text) if run.began_ms not in self._before]
        made = self._made | {edge.output for run in new[:-1] for edge in run.edges}
        outputs = undone(graph, made, total)
        if not outputs:
            return
        self._forecast = Forecast(
            outputs, expected=self._expected, graph=graph, has_cache=self._has_cache, jobs=self._jobs
        )
        self._head = text.partition("\n")[0]
        self._offset = _whole(text)
        self._forecast.take(new[-1].edges if new else ())

    def _go_on(self) -> None:
        """Take what was added to the log: ninja writes a line when an edge has ended."""
        text = self._read(NINJA_LOG) or ""
        end = _whole(text)
        if self._forecast is None or end < self._offset:
            return
        for run in runs_of(f"{self._head}\n{text[self._offset : end]}"):
            self._forecast.take(run.edges)
        self._offset = end

    def errors(self) -> dict[int, float]:
        """After the end: how wrong it was when 25, 50 and 75 % of the time had passed; see `errors_at`."""
        end = self._forecast.now if self._forecast else 0.0
        return errors_at(self._said, end) if end >= _LEAST_S else {}

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
