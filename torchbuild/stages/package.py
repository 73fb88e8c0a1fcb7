"""package: the wheel that came out, read to its last byte and compared with the lock. Nothing is imported."""

from __future__ import annotations

from torchbuild.context import Context
from torchbuild.errors import StageError
from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.wheel import SOURCES, describe_wheel, inspect_wheel
from torchbuild.knowledge.own_sources import sources_digest
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.finding import failures, reasons
from torchbuild.model.lock import Lock
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Found

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "package"
REVISION = 1


class Plan(StagePlan):
    """What the wheel must be."""

    expected: ExpectedWheel
    """Name, version, tags, requirements, libraries."""


class Result(StageResult):
    """What the wheel is."""


def plan(lock: Lock) -> Plan:
    """Read the one wheel of the dist directory."""
    inputs = lock_part(lock, "wheel", "python", "glibc") | {"inspection": sources_digest(*SOURCES)}
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, inputs),
        needs=("compile",),
        makes=(),
        commands=(),
        expected=ExpectedWheel(
            distribution=lock.wheel.package,
            version=_built_version(lock),
            python_tag=lock.python.tag,
            machine=lock.machine,
            glibc=lock.glibc,
            requires_dist=lock.wheel.requires,
            allowed_external=lock.wheel.system_libraries,
            forbidden_paths=(BUILD_ROOT,),
        ),
    )


def _built_version(lock: Lock) -> str:
    """PYTORCH_BUILD_NUMBER above 1 becomes ``.postN`` at the very end, behind a local label too.

    Source: tools/generate_torch_version.py at v2.6.0, which appends to the whole PYTORCH_BUILD_VERSION.
    """
    number = lock.wheel.build_number
    return lock.wheel.version + (f".post{number}" if number > 1 else "")


def run(plan: Plan, context: Context) -> Result:
    """Check everything, then refuse with all that is wrong."""
    wheel = context.trees.only_wheel(context.workspace.inside("{dist}"))
    findings = inspect_wheel(wheel, plan.expected)
    for finding in findings:
        context.reporter.emit(Found(stage=NAME, finding=finding))
    wrong = failures(findings)
    if wrong:
        raise StageError(
            "wheel-not-as-locked",
            f"{wheel.name} is not what was asked for: {len(wrong)} checks failed",
            why=reasons(wrong),
            fix="Correct the recipe or the tree's patches, then build again.",
            link=str(wheel),
        )
    facts = describe_wheel(wheel)
    evidence = {
        "wheel": wheel.name,
        "sha256": facts.sha256,
        "bytes": str(facts.size),
        "members": str(facts.members),
    }
    return Result(
        summary=f"{wheel.name}, {facts.size / 1e6:.2f} MB, {facts.members} members",
        findings=findings,
        evidence=tuple(sorted(evidence.items())),
    )
