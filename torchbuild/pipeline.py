"""The build, top to bottom. The only module that knows the order of the stages."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from torchbuild.context import Context
from torchbuild.errors import Interrupted, UsageError
from torchbuild.model.lock import Lock
from torchbuild.model.stage import StageKey, StagePlan, StageResult, stage_key
from torchbuild.model.stopped import stopped
from torchbuild.report.events import StageFinished, StageStarted
from torchbuild.stages import compile as compile_stage
from torchbuild.stages import configure, fetch, package, publish, source, toolchain, verify

__all__ = [
    "STAGES",
    "Stage",
    "StageOutcome",
    "asks_each_time",
    "build",
    "carrying",
    "keys",
    "plan_all",
    "stage_slice",
    "watched",
    "whole_keys",
]

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


Restore = Callable[[P, Context], bool]
"""Bring back what a stage left outside the workspace and is gone there; whether anything was."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One stage with its plan bound in."""

    name: str
    """Its name."""
    plan: Callable[[Lock], StagePlan]
    """What it will do."""
    run: Callable[[Lock, Context], StageResult]
    """Do it."""
    restore: Callable[[Lock, Context], bool]
    """Of a stage that is done: bring back what it left outside the workspace and is gone; was anything?"""
    is_kept: bool = True
    """Whether a workspace can tell that it is done. What publish makes lies elsewhere."""


def _nothing_outside(_plan: StagePlan, _context: Context) -> bool:
    return False


def stage(module: _Module[P], *, restore: Restore[P] = _nothing_outside, is_kept: bool = True) -> Stage:
    """Wrap a module, so that its functions are checked against each other."""
    return Stage(
        name=module.NAME,
        plan=module.plan,
        run=lambda lock, context: module.run(module.plan(lock), context),
        restore=lambda lock, context: restore(module.plan(lock), context),
        is_kept=is_kept,
    )


STAGES = (
    stage(fetch, restore=fetch.restore),
    stage(toolchain),
    stage(source),
    stage(configure),
    stage(compile_stage, restore=compile_stage.restore),
    stage(package),
    stage(verify),
    stage(publish, is_kept=False),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class StageOutcome:
    """How one stage ended, for the report."""

    stage: str
    """Its name."""
    outcome: Literal["done", "reused", "failed", "stopped"]
    """As in `torchbuild.report.events.StageFinished`."""
    key: str
    """Digest of all that decides the stage, those before it included."""
    seconds: float
    """Wall time."""
    result: StageResult | None
    """What it did; None where it failed."""
    has_log: bool = False
    """Whether it runs commands, whose words are kept."""


def plan_all(lock: Lock, stages: tuple[Stage, ...] = STAGES) -> tuple[StagePlan, ...]:
    """Every plan, in order."""
    return tuple(item.plan(lock) for item in stages)


def stage_slice(first: str | None, last: str | None) -> tuple[Stage, ...]:
    """The stages from `first` to `last`, both included.

    Raises:
        UsageError: ``stage-unknown``, ``stage-order``.
    """
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


def keys(plans: tuple[StagePlan, ...], *, is_dev: bool = False) -> dict[str, str]:
    """Each stage's whole key as a digest; see `whole_keys`."""
    return {name: key.digest for name, key in whole_keys(plans, is_dev=is_dev).items()}


def whole_keys(plans: tuple[StagePlan, ...], *, is_dev: bool = False) -> dict[str, StageKey]:
    """Each stage's whole key: its own, its commands' and those of all that it needs: a change carries on.

    Args:
        plans: those of every stage that one of them needs, before it.
        is_dev: for a workspace that people edit in, where a change of the source does not carry on.
    """
    whole: dict[str, StageKey] = {}
    for plan in plans:
        commands = [item.model_dump(mode="json") for item in plan.commands]
        before = {f"stage {name}": whole[name].digest for name in carrying(plan, is_dev=is_dev)}
        key = stage_key(plan.stage, 0, [plan.key.digest, commands], *before.values())
        numbered = {f"command {number}": item for number, item in enumerate(commands, 1)}
        ours = stage_key(plan.stage, 0, numbered).parts | before
        whole[plan.stage] = StageKey(digest=key.digest, parts=ours | plan.key.parts)
    return whole


def carrying(plan: StagePlan, *, is_dev: bool) -> tuple[str, ...]:
    """The needs whose change makes a stage run again. Where people edit, ninja knows what that changes."""
    if not is_dev:
        return plan.needs
    if source.NAME in plan.needs:
        return (*(name for name in plan.needs if name != source.NAME), toolchain.NAME)
    # another commit is another fetch; what the tools are made of stands in their own key
    return tuple(name for name in plan.needs if (plan.stage, name) != (toolchain.NAME, fetch.NAME))


def watched(plan: StagePlan, *, is_dev: bool) -> tuple[str, ...]:
    """What must be as the stage left it. People edit the tree of a workspace for that."""
    return () if is_dev and plan.stage == source.NAME else plan.makes


def asks_each_time(name: str, *, is_dev: bool) -> bool:
    """Whether a stage runs also where it is done: where people edit, ninja alone knows what is new."""
    return is_dev and name == compile_stage.NAME


def build(
    lock: Lock,
    context: Context,
    stages: tuple[Stage, ...],
    *,
    forced: bool,
    clock: Callable[[], float],
    line: tuple[Stage, ...] = STAGES,
    before_work: Callable[[str], None] = lambda _name: None,
) -> Iterator[StageOutcome]:
    """Run the stages in order, and say how each ended; those done and intact are not done again.

    Where a stage fails, its outcome comes before what it raised.

    Args:
        lock: every input.
        context: the world.
        stages: a slice of `line`.
        forced: the first of them runs even if it is done.
        clock: seconds that only grow.
        line: all stages in order.
        before_work: hears the name of each stage that is about to run, before anything of it is forgotten.

    Raises:
        UsageError: ``stage-needs-earlier``.
        Interrupted: ``interrupted``, ``out-of-time``: somebody asked for it while a stage ran, or in between.
        TorchbuildError: what the stage raised, or `before_work`.
    """
    plans = {plan.stage: plan for plan in plan_all(lock, line)}
    walk = _Walk(lock, context, clock, plans, whole_keys(tuple(plans.values()), is_dev=context.is_dev))
    for index, item in enumerate(stages):
        if context.stopping.reason:
            raise stopped(context.stopping.reason, f"before {item.name}")
        walk.require_needs(item)
        is_forced = (forced and index == 0) or asks_each_time(item.name, is_dev=context.is_dev)
        if not is_forced and (yield from walk.reused(item)):
            continue
        before_work(item.name)
        ended = yield from walk.run(item)
        if ended.outcome == "stopped":
            return


class _Walk:
    """One pass over the line."""

    def __init__(
        self,
        lock: Lock,
        context: Context,
        clock: Callable[[], float],
        plans: dict[str, StagePlan],
        whole: dict[str, StageKey],
    ) -> None:
        self._lock, self._context, self._clock = lock, context, clock
        self._plans, self._whole = plans, whole
        self._ended: set[str] = set()
        """Stages that are done now, and known to be."""

    def require_needs(self, item: Stage) -> None:
        """A stage begins only where all that it builds on is there, and as it was left."""
        missing = [name for name in self._needs_of(item.name) if not self._is_done(name)]
        if missing:
            names = ", ".join(missing)
            raise UsageError(
                "stage-needs-earlier",
                f"{item.name} needs {names}, which is not done in this workspace",
                why=f"seen no intact result of {names} for this lock in run {self._context.workspace.run}",
                fix=f"Begin earlier: --from {missing[0]}, or leave out --from.",
            )

    def _needs_of(self, name: str, *, is_dev: bool = False) -> list[str]:
        """All that a stage builds on, in the order of the line."""
        found: set[str] = set()
        todo = [*carrying(self._plans[name], is_dev=is_dev)]
        while todo:
            need = todo.pop()
            found.add(need)
            todo += carrying(self._plans[need], is_dev=is_dev)
        return [other for other in self._plans if other in found]

    def _is_done(self, name: str) -> bool:
        if name not in self._ended and self._recorded(self._plans[name]) is not None:
            self._ended.add(name)
        return name in self._ended

    def _recorded(self, plan: StagePlan) -> StageResult | None:
        makes = watched(plan, is_dev=self._context.is_dev)
        return self._context.records.reuse(plan.stage, self._whole[plan.stage], makes)

    def reused(self, item: Stage) -> Generator[StageOutcome, None, bool]:
        """The stage as an earlier run left it, what is gone elsewhere brought back; False: it must run."""
        started, plan = self._clock(), self._plans[item.name]
        result = self._recorded(plan) if item.is_kept else None
        if result is None:
            return False
        try:
            restored = item.restore(self._lock, self._context)
        except (Exception, KeyboardInterrupt) as error:
            is_asked = isinstance(error, KeyboardInterrupt | Interrupted)
            yield self._finish(plan, "stopped" if is_asked else "failed", started, None)
            raise
        yield self._finish(plan, "done" if restored else "reused", started, result)
        return True

    def run(self, item: Stage) -> Generator[StageOutcome, None, StageOutcome]:
        """Run the stage; what builds on it counts as undone from here on."""
        started, plan = self._clock(), self._plans[item.name]
        log = str(self._context.workspace.logs / f"{plan.stage}.log") if plan.commands else ""
        self._context.reporter.emit(StageStarted(stage=plan.stage, log=log))
        self._forget_from(plan.stage)
        try:
            result = item.run(self._lock, self._context)
            if not result.stopped:
                makes = watched(plan, is_dev=self._context.is_dev)
                self._context.records.remember(plan.stage, self._whole[plan.stage], makes, result)
        except (KeyboardInterrupt, Interrupted):
            yield self._finish(plan, "stopped", started, None)
            raise
        except Exception:
            yield self._finish(plan, "failed", started, None)
            raise
        ended = self._finish(plan, "stopped" if result.stopped else "done", started, result)
        yield ended
        return ended

    def _forget_from(self, name: str) -> None:
        """The last first: killed in between, no stage is done that builds on one that is not."""
        is_dev = self._context.is_dev
        later = [other for other in self._plans if name in (other, *self._needs_of(other, is_dev=is_dev))]
        for other in reversed(later):
            self._context.records.forget(other)

    def _finish(
        self,
        plan: StagePlan,
        outcome: Literal["done", "reused", "failed", "stopped"],
        started: float,
        result: StageResult | None,
    ) -> StageOutcome:
        if outcome in ("done", "reused"):
            self._ended.add(plan.stage)
        seconds, summary = self._clock() - started, result.summary if result else ""
        self._context.reporter.emit(
            StageFinished(stage=plan.stage, outcome=outcome, seconds=round(seconds, 3), summary=summary)
        )
        key = self._whole[plan.stage].digest
        return StageOutcome(
            stage=plan.stage,
            outcome=outcome,
            key=key,
            seconds=seconds,
            result=result,
            has_log=bool(plan.commands),
        )
