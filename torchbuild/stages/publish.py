"""publish: the wheel beside its digest and its lock, laid down whole or not at all."""

from __future__ import annotations

from torchbuild.context import Context
from torchbuild.model.lock import Lock
from torchbuild.model.stage import StagePlan, StageResult, stage_key
from torchbuild.resolve.lockfile import dump_lock

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "publish"
REVISION = 1


class Plan(StagePlan):
    """What is laid down."""

    lock_text: str
    """The lock, for whoever wants to build the same wheel."""


class Result(StageResult):
    """Where the wheel is."""


def plan(lock: Lock) -> Plan:
    """Wheel, lock and SHA256SUMS."""
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, None),
        needs=("package", "verify"),
        makes=(),
        commands=(),
        lock_text=dump_lock(lock),
    )


def run(plan: Plan, context: Context) -> Result:
    """Copy by temp and rename, so that a name never stands for half a wheel."""
    wheel = context.trees.only_wheel(context.workspace.inside("{dist}"))
    target = context.publish_dir / wheel.name
    digest = context.trees.copy(wheel, target)
    context.trees.write(target.with_suffix(".lock"), plan.lock_text)
    context.trees.write(target.with_suffix(".whl.sha256"), f"{digest}  {wheel.name}\n")
    return Result(summary=str(target), evidence=(("path", str(target)), ("sha256", digest)))
