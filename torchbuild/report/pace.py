"""How long the rest will take: of bytes at the speed at which they come, of other units as the stage says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from torchbuild.report.events import Progress
from torchbuild.report.text import duration, size

__all__ = ["Pace"]

_WINDOW_S = 15.0
"""What came in these last seconds counts: a line that became slow is slow."""
_SETTLE_S = 2.0
"""Parts that an earlier run left are counted in the first moments, and did not come over the line."""
_SHORTEST_S = 2.0
"""Nobody knows a speed before."""


class Pace:
    """Of one stage.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self._since: float | None = None
        self._end: float | None = None

    def note(self, event: Progress) -> None:
        """Take in how far it is; units that are no bytes, and a count that falls, begin anew."""
        now = self._clock()
        if event.left_s is not None:
            self.promise(event.left_s)
        if event.unit != "bytes" or (self._seen and event.done < self._seen[-1][1]):
            self._seen.clear()
            self._since = None
        if event.unit != "bytes":
            return
        self._since = now if self._since is None else self._since
        if now - self._since < _SETTLE_S:
            self._seen.clear()
        self._seen.append((now, event.done))
        self._forget(now)

    def promise(self, left_s: float) -> None:
        """The stage says how long it will take; it holds until it knows better."""
        self._end = self._clock() + left_s if left_s else None

    def text(self, event: Progress) -> str:
        """Such as ``3.2 MiB/s, 1 min 12 s left``; empty while nobody can know it."""
        now = self._clock()
        if self._end is not None:
            return f"{duration(max(self._end - now, 1.0))} left"
        self._forget(now)
        if not self._seen:
            return ""
        since, before = self._seen[0]
        if now - since < _SHORTEST_S:
            return ""
        speed = (self._seen[-1][1] - before) / (now - since)
        said = f"{size(round(speed))}/s"
        left = event.total - event.done
        return f"{said}, {duration(left / speed)} left" if left > 0 and speed >= 1 else said

    def _forget(self, now: float) -> None:
        """What is too long ago, but for the last of it."""
        while len(self._seen) > 1 and now - self._seen[1][0] > _WINDOW_S:
            self._seen.popleft()
