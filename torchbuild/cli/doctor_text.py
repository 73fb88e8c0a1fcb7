"""What `torchbuild doctor` prints: failures first, then doubts, what nobody could look at, and the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchbuild.cli.output import print_json, print_text
from torchbuild.preflight.case import Case
from torchbuild.preflight.checks import exit_code
from torchbuild.preflight.estimate import estimates
from torchbuild.preflight.outcome import Concern, Preflight
from torchbuild.report.console import is_live
from torchbuild.report.plain import marks_for
from torchbuild.report.redaction import Redactor
from torchbuild.report.text import printable, size

__all__ = ["doctor_json", "doctor_lines", "print_doctor"]

Found = Mapping[Concern, tuple[Preflight, ...]]

_ORDER = ("failed", "warned", "not run", "passed")
_MARKS = {"failed": "found", "warned": "warned", "not run": "not run", "passed": "done"}
_STYLES = {"failed": "bold red", "warned": "yellow", "not run": "dim", "passed": "green"}
_INDENT = 4


class Line(NamedTuple):
    """One line, and how a terminal shows what it begins with."""

    head: str
    """Shown in the style."""
    style: str
    """Of rich; empty for none."""
    rest: str = ""
    """What follows, plain."""


def print_doctor(case: Case, found: Found, *, name: str, as_json: bool, clean: Redactor) -> None:
    """Print on stdout: JSON for a program, colours for a terminal, else plain lines.

    Raises:
        OSError: stdout takes nothing.
    """
    if as_json:
        print_json(doctor_json(case, found, name=name), clean)
        return
    lines = list(doctor_lines(case, found, name=name, encoding=getattr(sys.stdout, "encoding", None)))
    if sys.stdout is not None and is_live(sys.stdout, os.environ):
        _print_rich(lines, clean)
    else:
        print_text("\n".join(f"{line.head}{line.rest}" for line in lines), clean)


def _print_rich(lines: list[Line], clean: Redactor) -> None:
    from rich.console import Console  # noqa: PLC0415  slow to import, needed at a terminal only
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    for line in lines:
        text = Text.assemble((clean.redact(line.head), line.style), clean.redact(line.rest))
        console.print(text, soft_wrap=True)


def doctor_lines(case: Case, found: Found, *, name: str, encoding: str | None) -> Iterator[Line]:
    """The report, line by line."""
    marks = marks_for(encoding)
    yield Line(printable(name or "this machine"), "bold", f"  on {_machine(case)}")
    for outcome in _ORDER:
        for concern, rows in found.items():
            for item in rows:
                if item.outcome == outcome:
                    yield from _item(item, concern, marks[_MARKS[outcome]])
    for guess in estimates(case):
        yield Line("~ ", "cyan", printable(f"{guess.what}: {guess.text} ({guess.basis})"))
    yield Line("", "", _summary(found))


def _machine(case: Case) -> str:
    host = case.host
    memory = size(host.memory_limit or host.memory or 0)
    return printable(f"{host.system or 'Linux'}, {host.machine}, {host.cores} cores, {memory}")


def _item(item: Preflight, concern: Concern, mark: str) -> Iterator[Line]:
    """A failure in full; what passed in one line."""
    style = _STYLES[item.outcome]
    if item.outcome == "passed":
        yield Line(f"{mark} ", style, f"{concern}: {item.reference}  {_told(item)}")
        return
    head = f"{mark} {concern}: {item.reference}"
    yield Line(head, style, f"  {item.outcome}: {printable(item.what)}")
    for label, text in (("seen", item.seen), ("wanted", item.wanted), ("fix", item.fix)):
        if text:
            yield Line(f"{'':{_INDENT}}{label:7}", "bold" if label == "fix" else "dim", printable(text))


def _told(item: Preflight) -> str:
    return printable(f"{item.what}{f': {item.seen}' if item.seen else ''}")


def _summary(found: Found) -> str:
    rows = [item for items in found.values() for item in items]
    counts = [(sum(item.outcome == outcome for item in rows), outcome) for outcome in _ORDER]
    return ", ".join(f"{count} {outcome}" for count, outcome in counts)


def _worst(found: Found) -> str:
    """Of all: what was not run is not passed."""
    there = {item.outcome for items in found.values() for item in items}
    return next((outcome for outcome in _ORDER if outcome in there), _ORDER[-1])


def doctor_json(case: Case, found: Found, *, name: str) -> dict[str, Any]:
    """All of it, for a program."""
    rows = [
        {"concern": concern, **item.model_dump(mode="json")}
        for concern, items in found.items()
        for item in items
    ]
    return {
        "recipe": name or None,
        "outcome": _worst(found),
        "exit_code": exit_code(found),
        "preflights": rows,
        "estimates": [item.model_dump(mode="json") for item in estimates(case)],
        "host": case.host.model_dump(mode="json"),
        "advice": case.advice.model_dump(mode="json") if case.advice is not None else None,
    }
