"""Events as a job of GitHub's CI shows them: a fold a stage, errors and warnings as annotations.

GitHub's runner reads orders out of what a job prints: a line that begins with ``::``, and ``##[`` anywhere.
Names and logs come from anybody, so in every line that is not an order of ours both are broken up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TextIO

from torchbuild.errors import TorchbuildError
from torchbuild.report.events import Event, Found, RunFinished, StageFinished, StageStarted, Warned
from torchbuild.report.plain import PlainConsole, finding_text
from torchbuild.report.text import printable

__all__ = ["GithubConsole", "command", "error_command", "harmless", "is_github"]

_MOST_NOTES = 10
"""GitHub shows so many annotations of a sort for a step; those beyond are lines as ever."""
_LONGEST = 2000
_ORDER = re.compile("(^|[\n\r\v\f\x85\u2028\u2029])(\\s*):(?=:)")
_OLD_ORDER = re.compile(r"##(?=\[)")
_PLACE = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d{1,7})(?::(?P<col>\d{1,7}))?: (?:fatal )?error: ")


def is_github(environ: Mapping[str, str]) -> bool:
    """Whether a runner of GitHub's kind reads what we print."""
    return environ.get("GITHUB_ACTIONS") == "true"


def harmless(text: str) -> str:
    """The same lines, of which none is an order to the runner."""
    return _OLD_ORDER.sub("## ", _ORDER.sub(r"\1\2: ", text))


def command(name: str, text: str = "", **properties: str | int) -> str:
    """An order to the runner, as its rules escape it."""
    said = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value != "")
    return f"::{name}{' ' if said else ''}{said}::{_data(text[:_LONGEST])}"


def _data(text: str) -> str:
    return _OLD_ORDER.sub("## ", text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(printable(text)[:_LONGEST]).replace(":", "%3A").replace(",", "%2C")


def error_command(error: TorchbuildError) -> str:
    """An error as an annotation; at the line of the source that the compiler names, where it does."""
    place: Mapping[str, str | int] = {}
    for problem in error.problems[:1]:
        place = {"file": problem.file, "line": problem.line or ""} if problem.file else {}
    for line in (*error.why, *error.evidence):
        match = None if place else _PLACE.match(printable(line).strip())
        if match is not None:
            place = {key: value for key, value in match.groupdict().items() if value}
    text = "\n".join(printable(part) for part in (error.what, *error.why, error.fix) if part)
    return command("error", text, **place, title=error.reference)


class GithubConsole:
    """A renderer: plain lines, folded by stage.

    Args:
        stream: where to.
        clock: seconds that only grow.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._plain = PlainConsole(stream, clock, mend=harmless)
        self._is_open = False
        self._notes = {"error": 0, "warning": 0}

    def handle(self, event: Event) -> None:
        """Write the event's line, and what folds or marks it."""
        match event:
            case StageStarted():
                self._fold(event.stage)
            case StageFinished() | RunFinished():
                self._unfold()
            case Warned():
                self._note("warning", event.text, event.reference)
            case Found() if event.finding.outcome in ("failed", "warned"):
                sort = "error" if event.finding.outcome == "failed" else "warning"
                self._note(sort, finding_text(event), event.finding.reference)
            case _:
                pass
        self._plain.handle(event)

    def close(self) -> None:
        """Leave no fold open."""
        self._unfold()
        self._plain.close()

    def _fold(self, stage: str) -> None:
        self._unfold()
        self._order(command("group", printable(stage)))
        self._is_open = True

    def _unfold(self) -> None:
        if self._is_open:
            self._order(command("endgroup"))
        self._is_open = False

    def _note(self, sort: str, text: str, reference: str) -> None:
        self._notes[sort] += 1
        if self._notes[sort] <= _MOST_NOTES:
            self._order(command(sort, printable(text), title=reference))

    def _order(self, text: str) -> None:
        self._stream.write(text + "\n")
