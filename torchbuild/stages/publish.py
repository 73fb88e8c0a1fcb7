"""publish: the wheel beside its digest, lock and provenance, laid down whole or not at all."""

from __future__ import annotations

import hashlib

from torchbuild import __version__
from torchbuild.context import Context
from torchbuild.errors import PublishError
from torchbuild.model.lock import Lock
from torchbuild.model.stage import StagePlan, StageResult, stage_key
from torchbuild.report.provenance import Circumstances, provenance
from torchbuild.resolve.lockfile import dump_lock

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "publish"
REVISION = 2


class Plan(StagePlan):
    """What is laid down."""

    lock: Lock
    """For whoever wants to build the same wheel."""


class Result(StageResult):
    """Where the wheel is."""


def plan(lock: Lock) -> Plan:
    """Wheel, lock, digest and provenance."""
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, None),
        needs=("package", "verify"),
        makes=(),
        commands=(),
        lock=lock,
    )


def run(plan: Plan, context: Context) -> Result:
    """Copy by temp and rename: a name never stands for half a wheel. The same wheel stays as it is."""
    trees = context.trees
    wheel = trees.only_wheel(context.workspace.inside("{dist}"))
    target, digest = context.publish_dir / wheel.name, trees.file_digest(wheel)
    _require_verified(wheel.name, digest, context)
    is_there = target.is_file() and trees.file_digest(target) == digest
    if not is_there and trees.copy(wheel, target) != digest:
        raise PublishError(
            "published-wheel-differs",
            f"{target} is not the wheel that was verified",
            why=f"wanted sha256 {digest}",
            fix=f"Check the file system that holds {target.parent}, then run the same command again.",
        )
    lock_text = dump_lock(plan.lock)
    around = Circumstances(
        lock_sha256=hashlib.sha256(lock_text.encode()).hexdigest(),
        tool=__version__,
        is_dev=context.is_dev,
        allowed=context.allowed,
        despite=context.despite,
    )
    trees.write(target.with_suffix(".lock"), lock_text)
    trees.write(target.with_suffix(".provenance.json"), provenance(plan.lock, wheel.name, digest, around))
    trees.write(target.with_suffix(".whl.sha256"), f"{digest}  {wheel.name}\n")
    summary = f"{target} (the same wheel was there)" if is_there else str(target)
    evidence = (("bytes", str(wheel.stat().st_size)), ("path", str(target)), ("sha256", digest))
    return Result(summary=summary, evidence=evidence)


def _require_verified(name: str, digest: str, context: Context) -> None:
    """What is laid down is what was read and used: the build could write beside it meanwhile."""
    verified = context.records.evidence("verify").get("sha256", "")
    inspected = context.records.evidence("package").get("sha256", verified)
    if not digest == verified == inspected:
        raise PublishError(
            "wheel-not-verified",
            f"{name} is not the wheel that was verified",
            why=(f"seen sha256 {digest}", f"wanted sha256 {verified or 'of a wheel that was verified'}"),
            fix="Find out what writes into the build's dist directory, then run the same command again.",
        )
