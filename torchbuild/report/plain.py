"""Events as plain lines: for logs of a CI system, for files, for people who want no colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from torchbuild.report.activity_text import facts_text, now_text
from torchbuild.report.events import (
    Activity,
    Event,
    Found,
    Line,
    Progress,
    RunFinished,
    RunStarted,
    StageFinished,
    StageStarted,
    Warned,
)
from torchbuild.report.pace import Pace
from torchbuild.report.text import duration, printable, size

__all__ = ["MARKS", "PlainConsole", "amount", "finding_text", "finished_text", "marks_for", "warned_text"]

MARKS = {
    "done": "✓",
    "reused": "✓",
    "failed": "✗",
    "stopped": "■",
    "warned": "!",
    "found": "✗",
    "not run": "○",
}
"""Outcome -> the sign before its line."""
_ASCII_MARKS = {
    "done": "ok",
    "reused": "ok",
    "failed": "FAILED",
    "stopped": "stopped",
    "warned": "!",
    "found": "x",
    "not run": "-",
}
_STEP_PERCENT = 5
_STEP_SECONDS = 30.0
_SHORTEST_SECONDS = 1.0
_LONGEST_WHAT = 200
_SILENT_SECONDS = 60.0
"""So long nothing is said while no edge ends, however much goes on."""


def marks_for(encoding: str | None) -> dict[str, str]:
    """The signs that a stream of this encoding can carry."""
    try:
        "".join(MARKS.values()).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _ASCII_MARKS
    return MARKS


def amount(event: Progress) -> str:
    """How far, in the event's unit: ``431/1377 edges``, ``12.0 MiB of 25.9 MiB``, ``3 files``."""
    if event.unit == "bytes":
        return f"{size(event.done)} of {size(event.total)}" if event.total else size(event.done)
    return f"{event.done}/{event.total} {event.unit}" if event.total else f"{event.done} {event.unit}"


def finding_text(event: Found) -> str:
    """A finding in one line: which check, what it looked at, seen and wanted."""
    finding = event.finding
    text = f"{finding.reference}: {finding.outcome}: {finding.what}"
    if finding.seen or finding.wanted:
        text += f" (saw {finding.seen or 'nothing'}, wanted {finding.wanted or 'nothing'})"
    return printable(text)


def warned_text(event: Warned) -> str:
    """A warning in one line."""
    where = f"{event.stage}: " if event.stage else ""
    return f"{where}{event.reference}: {printable(event.text)}"


def finished_text(event: StageFinished, checks: int) -> str:
    """What a finished stage leaves: its time, or that it was reused; what came out; its checks."""
    parts = ["reused" if event.outcome == "reused" else duration(event.seconds)]
    if event.outcome == "stopped":
        parts.append("stopped")
    if event.summary:
        parts.append(printable(event.summary))
    told = f"{checks} check{'s' if checks > 1 else ''} passed"
    if checks and told not in event.summary:  # a stage whose checks are what came out says so itself
        parts.append(told)
    return "  ".join(parts)


class PlainConsole:
    """A renderer of lines without control characters.

    Progress is told when it grew by 5 % or when 30 s have passed, and never twice in a second; of bytes with
    their speed and how long the rest will take at that; of edges with what runs, the memory and the cache.
    Where none ends for a minute, what runs is told each minute.

    Args:
        stream: where to, usually stderr.
        clock: seconds that only grow.
        mend: what becomes of each text before it is written.
    """

    def __init__(
        self, stream: TextIO, clock: Callable[[], float], *, mend: Callable[[str], str] = str
    ) -> None:
        self._stream = stream
        self._mend = mend
        self._clock = clock
        self._marks = marks_for(stream.encoding)
        self._told: dict[str, tuple[float, float]] = {}
        self._passed: dict[str, int] = {}
        self._paces: dict[str, Pace] = {}
        self._latest: Progress | None = None
        self._activity: Activity | None = None

    def handle(self, event: Event) -> None:
        """Write the event's line, if it is worth one."""
        text = self._text(event)
        if text:
            self._stream.write(self._mend(text) + "\n")
            self._stream.flush()

    def close(self) -> None:
        """Nothing is left open."""
        self._stream.flush()

    def _text(self, event: Event) -> str:
        text = ""
        match event:
            case RunStarted():
                text = f"{event.run}: {', '.join(event.stages)}  ({printable(event.workspace)})"
            case StageStarted():
                text = self._begun(event)
            case Progress() | Activity():
                text = self._moved(event)
            case Line():
                text = f"{event.stage}: {printable(event.text)}"
            case Warned():
                text = f"{self._marks['warned']} {warned_text(event)}"
            case Found():
                text = self._found(event)
            case StageFinished():
                checks = self._passed.get(event.stage, 0)
                text = f"{self._marks[event.outcome]} {event.stage}  {finished_text(event, checks)}"
            case RunFinished():
                text = _last_lines(event, self._marks)
        return text

    def _moved(self, event: Progress | Activity) -> str:
        match event:
            case Progress():
                self._latest = event
                self._paces.setdefault(event.stage, Pace(self._clock)).note(event)
                return self._progress(event, _STEP_SECONDS)
            case Activity():
                self._activity = event
                if not event.running:  # ninja has ended; how long the rest takes nobody has said
                    self._paces.pop(event.stage, None)
                elif event.left_s is not None:
                    self._paces.setdefault(event.stage, Pace(self._clock)).promise(event.left_s)
                latest = self._latest or Progress(stage=event.stage, done=0, total=0, unit="edges")
                return self._progress(latest, _SILENT_SECONDS)

    def _begun(self, event: StageStarted) -> str:
        self._told[event.stage] = (self._clock(), 0.0)
        self._latest, self._activity = None, None
        self._passed[event.stage] = 0
        self._paces[event.stage] = Pace(self._clock)
        return f"{event.stage}: begins" + (f"  (log: {printable(event.log)})" if event.log else "")

    def _progress(self, event: Progress, most_s: float) -> str:
        now = self._clock()
        percent = 100 * event.done / event.total if event.total else 0.0
        when, before = self._told.get(event.stage, (now, 0.0))
        if percent < before:  # another file, another count
            self._told[event.stage] = (when, percent)
            before = percent
        grown = percent - before >= _STEP_PERCENT and now - when >= _SHORTEST_SECONDS
        if not grown and now - when < most_s:
            return ""
        self._told[event.stage] = (now, percent)
        share = f"{percent:3.0f} %  " if event.total else ""
        pace = self._paces.get(event.stage)
        said = [amount(event), pace.text(event) if pace else "", *self._goes_on(event)]
        return f"{event.stage}: {share}{'  '.join(part for part in said if part)}".rstrip()

    def _goes_on(self, event: Progress) -> list[str]:
        """What runs now; where nobody tells that, what was made last."""
        activity = self._activity
        if activity is None or activity.stage != event.stage:
            return [_bounded(event.what)]
        now = now_text(activity)
        return [facts_text(activity), f"now {now}" if now else _bounded(event.what)]

    def _found(self, event: Found) -> str:
        outcome = event.finding.outcome
        if outcome == "passed":
            self._passed[event.stage] = self._passed.get(event.stage, 0) + 1
            return ""
        mark = self._marks["found" if outcome == "failed" else outcome]
        return f"{mark} {event.stage}: {finding_text(event)}"


def _bounded(what: str) -> str:
    text = printable(what)
    return text if len(text) <= _LONGEST_WHAT else text[: _LONGEST_WHAT - 1] + "…"


def _last_lines(event: RunFinished, marks: dict[str, str]) -> str:
    lines = [f"{marks[event.outcome]} {event.run}  {duration(event.seconds)}"]
    if event.wheel:
        lines.append(f"  wheel   {printable(event.wheel)}")
    if event.report:
        lines.append(f"  report  {printable(event.report)}")
    if event.outcome == "failed":
        lines.append(f"  enter   torchbuild shell {printable(event.run)}")
    return "\n".join(lines)
