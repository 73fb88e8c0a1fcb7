"""How far the downloads of a lock are, in lines: a toolkit is gigabytes, and `lock` has no live view."""

from __future__ import annotations

import io
import time
from collections.abc import Callable

from torchbuild.report.events import Progress, StageStarted
from torchbuild.report.plain import PlainConsole

__all__ = ["told_progress"]


class _Lines(io.StringIO):
    """A stream whose lines somebody is told."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def write(self, text: str) -> int:
        """Each write is a line."""
        self._tell(text.rstrip("\n"))
        return len(text)


def told_progress(
    tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[int, int, str], None]:
    """What to hand to downloads as their listener; `tell` hears a line each 5 % or 30 seconds.

    Args:
        tell: takes one line.
        clock: seconds that only grow.
    """
    is_begun = False

    def say(line: str) -> None:
        if is_begun:
            tell(line)

    console = PlainConsole(_Lines(say), clock)
    console.handle(StageStarted(stage="lock"))
    is_begun = True

    def note(done: int, total: int, name: str) -> None:
        console.handle(Progress(stage="lock", done=done, total=total, unit="bytes", what=name))

    return note
