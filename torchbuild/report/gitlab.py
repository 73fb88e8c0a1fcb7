"""Events as a job of GitLab's CI shows them: a section a stage, which can be folded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TextIO

from torchbuild.report.events import Event, RunFinished, StageFinished, StageStarted
from torchbuild.report.jsonl import utc_now
from torchbuild.report.plain import PlainConsole

__all__ = ["GitlabConsole", "is_gitlab"]

_BEGIN = "\x1b[0K"
_OTHER = re.compile(r"[^a-z0-9_.-]")


def is_gitlab(environ: Mapping[str, str]) -> bool:
    """Whether GitLab's runner reads what we print."""
    return environ.get("GITLAB_CI") == "true"


class GitlabConsole:
    """A renderer: plain lines, folded by stage. No line of others has an escape, so none of them folds.

    Args:
        stream: where to.
        clock: seconds that only grow.
        now: the time of day, which GitLab reckons a section's length from.
    """

    def __init__(
        self, stream: TextIO, clock: Callable[[], float], now: Callable[[], datetime] = utc_now
    ) -> None:
        self._stream, self._now = stream, now
        self._plain = PlainConsole(stream, clock)
        self._open = ""

    def handle(self, event: Event) -> None:
        """Write the event's line, and what folds it."""
        match event:
            case StageStarted():
                self._end()
                self._open = _OTHER.sub("-", event.stage.lower())
                self._mark("start", f"[collapsed=true]\r{_BEGIN}{self._open}")
            case StageFinished() | RunFinished():
                self._end()
            case _:
                pass
        self._plain.handle(event)

    def close(self) -> None:
        """Leave no section open."""
        self._end()
        self._plain.close()

    def _end(self) -> None:
        if self._open:
            self._mark("end", f"\r{_BEGIN}")
        self._open = ""

    def _mark(self, which: str, rest: str) -> None:
        at = int(self._now().timestamp())
        self._stream.write(f"{_BEGIN}section_{which}:{at}:torchbuild-{self._open}{rest}\n")
