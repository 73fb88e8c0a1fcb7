"""configure: the front end runs until its first real build call, where the gate compares and stops it."""

from __future__ import annotations

from itertools import islice, takewhile

from torchbuild.context import Context
from torchbuild.errors import StageError
from torchbuild.kept_tree import forget_refused, keep_or_remove, mark_configured
from torchbuild.model.finding import Finding
from torchbuild.model.fingerprint import Fingerprint, fingerprint_of
from torchbuild.model.lock import Expectation, Lock
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Found
from torchbuild.resolve.frontend import front_end
from torchbuild.resolve.launchers import launched
from torchbuild.resolve.orders import (
    GATE,
    MARK,
    ORDER,
    bypassed,
    gate_findings,
    gate_order,
    refuse,
)

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "configure"
REVISION = 2
_MOST_LINES = 12
_MOST_NAMES = 40


class Plan(StagePlan):
    """What is configured, and what must come of it."""

    expect: tuple[Expectation, ...]
    """What the gate compares."""
    fingerprint: Fingerprint
    """What the build tree is made with; where people edit, it is kept while that is the same."""


class Result(StageResult):
    """What CMake made of the request."""


def plan(lock: Lock) -> Plan:
    """The front end's command, with the shim under orders to stop at the gate."""
    fields = ("environ", "defines", "expect", "era", "epoch", "compiler_cache")
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, lock_part(lock, *fields)),
        needs=("source",),
        makes=(GATE, MARK),
        commands=(front_end(lock),),
        expect=launched(lock.expect),
        fingerprint=fingerprint_of(lock),
    )


def run(plan: Plan, context: Context) -> Result:
    """Configure in an empty build tree and read the cache back. Refused means: nothing was compiled.

    Where people edit, the build tree is kept, and with it what CMake once read from the tree. Where that is
    refused it is forgotten, and only what the tree says now counts. What is compiled already stays.
    """
    is_kept, told = keep_or_remove(NAME, plan.fingerprint, context)
    findings, seconds = _configured(plan, context)
    forgotten = forget_refused(NAME, findings, context, is_kept=is_kept)
    if forgotten is not None:
        told += (forgotten,)
        findings, again = _configured(plan, context)
        seconds += again
    for finding in findings:
        context.reporter.emit(Found(stage=NAME, finding=finding))
    refuse(findings, str(context.workspace.logs / f"{NAME}.log"))
    mark_configured(findings, context)
    return Result(
        summary="what CMake made of the request is what was asked for",
        findings=findings + told,
        evidence=(("compared", str(len(findings))), ("configure_seconds", f"{seconds:.1f}")),
    )


def _configured(plan: Plan, context: Context) -> tuple[tuple[Finding, ...], float]:
    """The front end up to the gate: what that found, and seconds."""
    inside, trees = context.workspace.inside, context.trees
    for path in ("{dist}", GATE):
        trees.remove(inside(path))
    for path in ("{dist}", "{work}/home", "{work}/tmp"):
        trees.make(inside(path))
    trees.write(inside(ORDER), gate_order(plan.expect, plan.fingerprint))
    log = context.workspace.logs / f"{NAME}.log"
    command = plan.commands[0].with_environ(context.executor.environment())
    first = _First()
    done = context.executor.run(command, log=log, on_line=first.line)
    findings = gate_findings(trees.read(inside(GATE)))
    if findings is None and done.exit_code == 0:
        raise bypassed(log)
    if findings is None:
        raise StageError(
            "configure-failed",
            f"the tree did not configure (exit code {done.exit_code})",
            why=cmake_error(tuple(first.block) or done.tail)
            or "the front end ended before its first build call",
            fix=f"Correct what the lines name. To look around: torchbuild shell {context.workspace.run}",
            evidence=done.tail[-30:],
            link=str(log),
        )
    return findings, done.seconds


class _First:
    """Keeps the first error that CMake prints: what it goes on to say may fill the end of the log."""

    def __init__(self) -> None:
        self.block: list[str] = []

    def line(self, text: str) -> None:
        """Take one line of the front end's output."""
        if self.block or text.startswith("CMake Error"):
            self.block += [text] * (len(self.block) < _MOST_LINES)


def cmake_error(tail: tuple[str, ...]) -> tuple[str, ...]:
    """The first error that CMake printed, with the lines that say what it is; else the front end's own."""
    own: tuple[str, ...] = ()
    for number, line in enumerate(tail):
        if line.startswith("CMake Error"):
            return (line.strip(), *_indented(tail[number + 1 :]))
        if line.startswith(("error:", "ERROR ")):
            own = own or (line.strip(), *_names(tail[number + 1 :]))
    return own


def _indented(lines: tuple[str, ...]) -> list[str]:
    """A message of CMake is indented, and blank lines stand between its paragraphs."""
    found: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith(" "):
            break
        if line.strip():
            found.append(line.strip())
    return found[:6]


def _names(lines: tuple[str, ...]) -> tuple[str, ...]:
    """What the front end lists below its own error, one a line behind a tab: missing requirements."""
    listed = takewhile(lambda line: line.startswith("\t") and line.strip(), lines)
    return tuple(line.strip() for line in islice(listed, _MOST_NAMES))
