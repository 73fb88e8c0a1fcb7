"""The build, top to bottom. The only module that knows the order of the stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from torchbuild.context import Context
from torchbuild.errors import TorchbuildError, UsageError
from torchbuild.model.lock import Lock
from torchbuild.model.stage import StagePlan, StageResult, stage_key
from torchbuild.report.events import StageFinished, StageStarted
from torchbuild.stages import compile as compile_stage
from torchbuild.stages import configure, fetch, package, publish, source, toolchain, verify

__all__ = ["STAGES", "Stage", "StageOutcome", "build", "keys", "plan_all", "stage_slice"]

P = TypeVar("P", bound=StagePlan)


class _Module(Protocol[P]):
    """The contract of a stage's module, its own Plan included."""

    NAME: str

    def plan(self, lock: Lock) -> P:
        """Pure."""
        ...

    def run(self, plan: P, context: Context) -> StageResult:
        """Impure."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One stage with its plan bound in."""

    name: str
    plan: Callable[[Lock], StagePlan]
    run: Callable[[Lock, Context], StageResult]


def stage(module: _Module[P]) -> Stage:
    """Wrap a module, so that its `plan` and `run` are checked against each other."""
    return Stage(
        name=module.NAME, plan=module.plan, run=lambda lock, context: module.run(module.plan(lock), context)
    )


STAGES = (
    stage(fetch),
    stage(toolchain),
    stage(source),
    stage(configure),
    stage(compile_stage),
    stage(package),
    stage(verify),
    stage(publish),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class StageOutcome:
    """How one stage ended, for the report."""

    stage: str
    outcome: str
    key: str
    seconds: float
    result: StageResult | None


def plan_all(lock: Lock, stages: tuple[Stage, ...] = STAGES) -> tuple[StagePlan, ...]:
    """Every plan, in order."""
    return tuple(item.plan(lock) for item in stages)


def stage_slice(first: str | None, last: str | None) -> tuple[Stage, ...]:
    """The stages from `first` to `last`, both included."""
    names = [item.name for item in STAGES]
    for name in (first, last):
        if name is not None and name not in names:
            raise UsageError(
                "stage-unknown",
                f"there is no stage {name!r}",
                why=f"wanted one of {', '.join(names)}",
                fix="Name one of the stages above.",
            )
    start = names.index(first) if first else 0
    end = names.index(last) if last else len(names) - 1
    if start > end:
        raise UsageError(
            "stage-order",
            f"{first} comes after {last}",
            why=f"wanted an order of {', '.join(names)}",
            fix="Exchange --from and --until.",
        )
    return STAGES[start : end + 1]


def keys(stages: tuple[Stage, ...], lock: Lock) -> dict[str, str]:
    """Each stage's whole key: its own, its commands' and those of all that it needs, so that a change carries on."""
    whole: dict[str, str] = {}
    for plan in plan_all(lock, stages):
        commands = [item.model_dump(mode="json") for item in plan.commands]
        whole[plan.stage] = stage_key(
            plan.stage, 0, [plan.key, commands], *(whole[name] for name in plan.needs)
        )
    return whole


def build(
    lock: Lock, context: Context, stages: tuple[Stage, ...], *, forced: bool, clock: Callable[[], float]
) -> tuple[StageOutcome, ...]:
    """Run the stages in order; those done and intact are not done again.

    `forced`: the first stage of the slice runs even if it was done. Where a stage fails, what ended until
    then is in the error's ``outcomes``.
    """
    whole = keys(STAGES, lock)
    outcomes: list[StageOutcome] = []
    for index, item in enumerate(stages):
        plan, started = item.plan(lock), clock()
        _check_needs(plan, whole, context, {outcome.stage for outcome in outcomes})
        reused = (
            None
            if forced and index == 0
            else context.records.reuse(plan.stage, whole[plan.stage], plan.makes)
        )
        if reused is not None:
            outcomes.append(_finish(context, plan, "reused", clock() - started, reused))
            continue
        context.reporter.emit(
            StageStarted(stage=plan.stage, log=str(context.workspace.logs / f"{plan.stage}.log"))
        )
        context.records.forget(plan.stage)
        try:
            result = item.run(lock, context)
        except TorchbuildError as error:
            error.outcomes = (*outcomes, _finish(context, plan, "failed", clock() - started, None))
            raise
        if result.stopped:
            outcomes.append(_finish(context, plan, "stopped", clock() - started, result))
            break
        context.records.remember(plan.stage, whole[plan.stage], plan.makes, result)
        outcomes.append(_finish(context, plan, "done", clock() - started, result))
    return tuple(outcomes)


def _check_needs(plan: StagePlan, whole: dict[str, str], context: Context, done: set[str]) -> None:
    missing = [name for name in plan.needs if name not in done and context.records.key(name) != whole[name]]
    if missing:
        raise UsageError(
            "stage-needs-earlier",
            f"{plan.stage} needs {', '.join(missing)}, which is not done in this workspace",
            why=f"seen no record of {', '.join(missing)} for this lock in run {context.workspace.run}",
            fix="Leave out --from, or begin earlier.",
        )


def _finish(
    context: Context, plan: StagePlan, outcome: str, seconds: float, result: StageResult | None
) -> StageOutcome:
    summary = result.summary if result else ""
    event = {"stage": plan.stage, "outcome": outcome, "seconds": round(seconds, 3), "summary": summary}
    context.reporter.emit(StageFinished.model_validate(event))
    return StageOutcome(stage=plan.stage, outcome=outcome, key=plan.key, seconds=seconds, result=result)
