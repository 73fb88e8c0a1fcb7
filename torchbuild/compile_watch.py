"""Follows a build that compiles: how far it is, what runs at this moment, and which edge failed first."""

from __future__ import annotations

from torchbuild.context import Context
from torchbuild.report.events import Activity, Progress
from torchbuild.report.live_activity import LiveActivity
from torchbuild.report.live_estimate import LiveEstimate
from torchbuild.report.ninja_lines import parse_line
from torchbuild.resolve.killed_compiler import is_lost
from torchbuild.resolve.orders import LIVE

__all__ = ["MOST_EVIDENCE", "CompileWatch"]

MOST_EVIDENCE = 40
"""Lines that are kept of what an edge said that failed."""
_NAME = "compile"
_NO_TARGET = "ninja: error: unknown target "


class CompileWatch:
    """Of one run of the front end.

    Attributes:
        estimate: how long the rest takes.
        failed: what the first edge that failed said.
        lost: what was said of compilers that were killed twice.
        has_target: whether the tree has what was asked for.
    """

    def __init__(self, context: Context, estimate: LiveEstimate) -> None:
        self._context = context
        self.estimate = estimate
        self._before, self._number, self._last = 0, 0, 0
        self.failed: list[str] = []
        self.lost: list[str] = []
        self.has_target = True
        self._open = False

    @property
    def total(self) -> int:
        """Edges of all calls of ninja together."""
        return self._before + self._last

    def place(self) -> str:
        """How far it is, for who stops it."""
        count = f"after {self._number:,} of {self._last:,} edges" if self._last else "before the first edge"
        return f"{count} of {_NAME}"

    def _count(self, number: int, total: int) -> None:
        """A front end may call ninja several times; a number that goes back is a new call's."""
        if number < self._number:
            self._before += self._last
        self._number, self._last = number, total

    def line(self, text: str) -> None:
        """Take one line of the build's output."""
        edge = parse_line(text)
        if edge is not None:
            self._open = False
            self._count(edge.number, edge.total)
            self._context.reporter.emit(
                Progress(
                    stage=_NAME,
                    done=self._number,
                    total=self._last,
                    unit="edges",
                    what=edge.what,
                    left_s=self.estimate.edge(self._number, self._last),
                )
            )
        elif text.startswith("FAILED: "):
            self._open = not self.failed
        elif is_lost(text):
            self.lost.append(text)
        elif text.startswith(_NO_TARGET):
            self.has_target = False
        if self._open and len(self.failed) < MOST_EVIDENCE:
            self.failed.append(text)

    def activity(self) -> LiveActivity:
        """Tells what runs, while the body lasts."""
        live, context = self._context.workspace.inside(LIVE), self._context
        context.trees.remove(live)  # of a run that was killed

        def tell(seen: Activity) -> None:
            left = self.estimate.again() if seen.running else None
            context.reporter.emit(seen.model_copy(update={"left_s": left}))

        return LiveActivity(_NAME, lambda: context.trees.read(live), tell)
