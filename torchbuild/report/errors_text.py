"""An error as a person reads it, and as a program does. Errors themselves never render.

Whoever calls this hands in an error that `torchbuild.report.redaction` has seen.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.errors import Problem, TorchbuildError
from torchbuild.report.text import printable

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["error_json", "error_rich", "error_text", "problem_lines"]

_LABEL_WIDTH = 5
_EVIDENCE_LINES = 40


class _Row(NamedTuple):
    label: str
    lines: tuple[str, ...]


def error_text(error: TorchbuildError) -> str:
    """The error in plain text, several lines, without a line end at the end."""
    return "\n".join(f"{first}{rest}" for first, rest in _lines(error))


def error_rich(error: TorchbuildError) -> Text:
    """The same with colours, for a terminal."""
    from rich.text import Text  # noqa: PLC0415  an error in a pipe must not wait for rich

    head, *body = _lines(error)
    text = Text.assemble((head[0], "bold red"), (head[1], "bold"), no_wrap=False, overflow="fold")
    for label, rest in body:
        text.append("\n")
        text.append(label, _STYLES.get(label.strip(), ""))
        text.append(rest, "dim" if label.strip() == "|" else "")
    return text


def error_json(error: TorchbuildError) -> dict[str, object]:
    """The error's fields; values are texts, numbers, lists and mappings."""
    return {
        "reference": error.reference,
        "family": type(error).__name__,
        "exit_code": error.exit_code,
        "what": error.what,
        "why": list(error.why),
        "fix": error.fix,
        "problems": [asdict(problem) for problem in error.problems],
        "evidence": list(error.evidence),
        "link": error.link,
    }


def problem_lines(problems: tuple[Problem, ...]) -> tuple[str, ...]:
    """One line a problem, in columns: where, key, seen and wanted, the suggestion."""
    places = [_place(problem) for problem in problems]
    place_width = max((len(place) for place in places), default=0)
    path_width = max((len(printable(problem.path)) for problem in problems), default=0)
    return tuple(
        _problem_line(problem, f"{place:{place_width}}", path_width)
        for place, problem in zip(places, problems, strict=True)
    )


_STYLES = {"why": "yellow", "fix": "bold green", "log": "cyan", "see": "cyan", "more": "cyan", "|": "dim"}


def _lines(error: TorchbuildError) -> list[tuple[str, str]]:
    """Pairs of what stands at the margin and what follows it."""
    lines = [(f"error[{error.reference}]: ", printable(error.what))]
    for row in _rows(error):
        for number, line in enumerate(row.lines):
            label = row.label if number == 0 or row.label == "|" else ""
            lines.append((f"  {label:{_LABEL_WIDTH}} " if label or row.label else "  ", line))
    return lines


def _rows(error: TorchbuildError) -> list[_Row]:
    tail = error.evidence[-_EVIDENCE_LINES:]
    rows = [
        _Row("", problem_lines(error.problems)),
        _Row("why", _split(error.why)),
        _Row("|", tuple(printable(line) for line in tail)),
        _Row("fix", _split((error.fix,))),
        _Row("log" if error.link.endswith(".log") else "see", _split((error.link,) if error.link else ())),
        _Row("more", (f"torchbuild explain {error.reference}",)),
    ]
    return [row for row in rows if row.lines]


def _split(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(printable(line) for text in texts for line in text.splitlines())


def _place(problem: Problem) -> str:
    file = printable(problem.file)
    if problem.line is None:
        return file
    return f"{file}:{problem.line}" if file else f"line {problem.line}"


def _problem_line(problem: Problem, place: str, path_width: int) -> str:
    path = f"{printable(problem.path):{path_width}}"
    said = f"saw {printable(problem.seen)}, wanted {printable(problem.wanted)}"
    hint = f"  did you mean {printable(problem.suggestion)}?" if problem.suggestion else ""
    return "  ".join(part for part in (place, path, said) if part) + hint
