"""Parts of a toolchain, made in a build: laid, completed, looked at, judged; through the context alone."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from torchbuild.context import Completed, Context
from torchbuild.errors import StageError
from torchbuild.inspection.gpu_code_build import library_covers
from torchbuild.model.command import Command
from torchbuild.model.finding import Finding, failures, reasons
from torchbuild.model.part import PARTS
from torchbuild.report.events import Found
from torchbuild.resolve.part_kinds import Guest, Program, Step
from torchbuild.resolve.planned_parts import PlannedPart, PlannedStep, is_in_the_tree, steps_of
from torchbuild.toolchains.nccl_source import SOURCE, built_sass
from torchbuild.toolchains.proof import Wanted, judge

__all__ = ["clear_parts", "prove_part", "settled"]

_STAGE = "toolchain"
_MOST_WHY = 300


def clear_parts(context: Context) -> None:
    """Nothing of another lock's parts stays, nor what a killed run left half made."""
    for place in (PARTS, "{work}/parts-build"):
        context.trees.remove(context.workspace.inside(place))


def settled(findings: tuple[Finding, ...], log: str, context: Context) -> tuple[Finding, ...]:
    """Tell them; what failed ends the stage, with the log of the step that showed it."""
    for finding in findings:
        context.reporter.emit(Found(stage=_STAGE, finding=finding))
    wrong = failures(findings)
    if wrong:
        raise StageError(
            "toolchain-not-as-locked",
            f"the build environment is not what the lock says: {', '.join(item.reference for item in wrong)}",
            why=reasons(wrong),
            fix="Make the lock anew with `torchbuild lock` if the builder changed, or repair the builder.",
            link=str(context.workspace.logs / f"{log}.log"),
        )
    return findings


def prove_part(item: PlannedPart, wanted: Wanted, context: Context) -> tuple[Finding, ...]:
    """Lay one part, make it whole, look at it, and judge what was seen."""
    if is_in_the_tree(item.part):
        what = f"{item.part.name}, which the tree builds by itself: it is not there yet, the gate looks"
        told = (Finding(reference="library-version", outcome="not run", what=what),)
        return settled(told, _STAGE, context)
    _lay(item, context)
    findings: list[Finding] = []
    completed: dict[str, Any] = {}
    for step, planned in zip(steps_of(item.part), item.steps, strict=True):
        done = _run_step(step, planned, item, wanted, context)
        if isinstance(step, Program):
            found = tuple(step.says(wanted, context.trees.read(done.log) or ""))
        else:
            seen = _printed(done, context)
            found = _judged(step, item, wanted, {"completed": completed} | seen, done)
            completed = seen if step.is_completion else completed
            if failures(found) and step.error is not None:
                _raise_own(step.error(item.part, found, seen, str(done.log)), found, context)
        findings += settled(found, f"{_STAGE}-{planned.name}", context)
    return (*findings, *settled(_code_of_nccl(item, wanted, context), _STAGE, context))


def _judged(
    step: Guest, item: PlannedPart, wanted: Wanted, seen: dict[str, Any], done: Completed
) -> tuple[Finding, ...]:
    """What a script printed, judged; one that prints other things than it should has shown nothing."""
    try:
        return judge(step.checks, item.part, wanted, seen)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _not_seen(done, f"{type(error).__name__}: {error}"[:_MOST_WHY]) from error


def _code_of_nccl(item: PlannedPart, wanted: Wanted, context: Context) -> tuple[Finding, ...]:
    """Whether each chip of the recipe can run what lies in the library; one built here holds nothing else."""
    part = item.part
    if part.name != "nccl" or not part.is_ours:
        return ()
    exact = built_sass(wanted.archs, wanted.cuda) if part.provider == "source" else ()
    folder = context.workspace.inside(part.prefix) / "lib"
    return library_covers(folder, "libnccl.so.*", wanted.archs, exact)


def _raise_own(error: StageError | None, found: tuple[Finding, ...], context: Context) -> None:
    """Where a step knows more of a failure than its findings say, it is told in its words."""
    if error is not None:
        for finding in found:
            context.reporter.emit(Found(stage=_STAGE, finding=finding))
        raise error


def _run_step(
    step: Step, planned: PlannedStep, item: PlannedPart, wanted: Wanted, context: Context
) -> Completed:
    """One step, run in the build; its own log holds all that it said."""
    log = context.workspace.logs / f"{_STAGE}-{planned.name}.log"
    if planned.request is not None:
        context.trees.write(context.workspace.inside(planned.request[0]), planned.request[1])
    done = None
    for command in planned.commands:
        done = context.executor.run(_with_jobs(command, context), log=log, append=done is not None)
        if done.exit_code != 0:
            if isinstance(step, Guest):
                raise _not_seen(done, f"exit code {done.exit_code}")
            # what a program said before it failed may be the cause
            settled(tuple(step.says(wanted, context.trees.read(log) or "")), log.stem, context)
            raise _not_made(item, done)
    if done is None:
        raise ValueError(f"step {planned.name} has no command")
    return done


def _with_jobs(command: Command, context: Context) -> Command:
    """How many compilers at a time is this machine's, and in no plan."""
    jobs = context.executor.environment().get("MAX_JOBS", "1")
    return command.model_copy(update={"argv": tuple(text.replace("{jobs}", jobs) for text in command.argv)})


def _lay(item: PlannedPart, context: Context) -> None:
    """Archives into the prefix, each unpacked apart and then moved in; a source lies beside it."""
    inside, trees, part = context.workspace.inside, context.trees, item.part
    if not part.is_ours:
        return
    fresh = inside(f"{part.prefix}-new")
    trees.make(inside(part.prefix))
    for piece in part.pieces:
        if piece.how == "source":
            trees.unpack(piece.artifact, inside(SOURCE), strip=piece.strip)
        elif piece.how == "unpack":
            trees.unpack(piece.artifact, fresh, strip=piece.strip, only=piece.only or None)
            trees.merge(fresh / piece.only, inside(part.prefix) / piece.to)
            trees.remove(fresh)


def _not_made(item: PlannedPart, done: Completed) -> StageError:
    return StageError(
        "part-not-made",
        f"{item.part.name} {item.part.version} could not be made of its pieces",
        why=f"exit code {done.exit_code}",
        fix="Mend what the lines above name, then run the same command again.",
        evidence=done.tail[-20:],
        link=str(done.log),
    )


def _printed(done: Completed, context: Context) -> dict[str, Any]:
    """The last line that is a document: what the guest script saw."""
    for line in reversed((context.trees.read(done.log) or "").splitlines()):
        with suppress(ValueError, RecursionError):
            seen = json.loads(line)
            if isinstance(seen, dict):
                return seen
    raise _not_seen(done, f"exit code {done.exit_code}; wanted one line of JSON")


def _not_seen(done: Completed, why: str) -> StageError:
    return StageError(
        "part-not-seen",
        "a script that looks at a part of the toolchain printed nothing that can be read",
        why=why,
        fix="Mend what the lines above name, then run the same command again.",
        evidence=done.tail[-20:],
        link=str(done.log),
    )
