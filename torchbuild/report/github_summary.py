"""The page that GitHub shows for a job: a short table of what a build did."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from torchbuild.report.events import Event, Found, RunFinished, RunStarted, StageFinished, Warned
from torchbuild.report.plain import MARKS, finding_text
from torchbuild.report.text import duration, printable

__all__ = ["GithubSummary"]

_MOST_FINDINGS = 50
_LONGEST = 500
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~])")
"""What Markdown would make something of; ``<``, ``>`` and ``&`` are for HTML."""


def _text(text: str) -> str:
    """A name or a message as it is, whatever stands in it."""
    short = printable(text)[:_LONGEST]
    return _SPECIAL.sub(r"\\\1", short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


class GithubSummary:
    """A renderer that appends to a file when the run has ended.

    Args:
        path: as ``GITHUB_STEP_SUMMARY`` names it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._recipe = ""
        self._stages: list[StageFinished] = []
        self._found: list[str] = []
        self._passed: dict[str, int] = {}

    def handle(self, event: Event) -> None:
        """Keep what the table holds; write it at the end."""
        match event:
            case RunStarted():
                self._recipe = event.recipe
            case StageFinished():
                self._stages.append(event)
            case Found():
                self._take(event)
            case Warned():
                self._found.append(f"{MARKS['warned']} {event.reference}: {event.text}")
            case RunFinished():
                text = "\n".join(self._lines(event)) + "\n"
                with self._path.open("a", encoding="utf-8", errors="replace") as file:
                    file.write(text)
            case _:
                pass

    def close(self) -> None:
        """Nothing is left open."""

    def _take(self, event: Found) -> None:
        outcome = event.finding.outcome
        if outcome == "passed":
            self._passed[event.stage] = self._passed.get(event.stage, 0) + 1
        else:
            self._found.append(f"{MARKS['found' if outcome == 'failed' else outcome]} {finding_text(event)}")

    def _lines(self, event: RunFinished) -> Iterator[str]:
        took = duration(event.seconds)
        yield f"### {MARKS[event.outcome]} {_text(self._recipe)}: {event.outcome} in {took}\n"
        yield "| stage | time | checks passed | what came out |\n|---|---|---|---|"
        for stage in self._stages:
            took = "reused" if stage.outcome == "reused" else duration(stage.seconds)
            passed = self._passed.get(stage.stage, "")
            name = f"{MARKS[stage.outcome]} {_text(stage.stage)}"
            yield f"| {name} | {took} | {passed} | {_text(stage.summary)} |"
        yield ""
        yield from (f"- {_text(line)}" for line in self._found[:_MOST_FINDINGS])
        if len(self._found) > _MOST_FINDINGS:
            yield f"- and {len(self._found) - _MOST_FINDINGS} more, see the report"
        for label, value in (("wheel", event.wheel), ("report", event.report), ("run", event.run)):
            if value:
                yield f"- {label}: {_text(value)}"
