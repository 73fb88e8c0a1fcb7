"""configure: the front end runs until its first real build call, where the gate compares and stops it."""

from __future__ import annotations

import json
import shutil
from typing import Any

from torchbuild.context import Context
from torchbuild.errors import StageError
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.finding import Finding, failures
from torchbuild.model.lock import Expectation, Lock
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.resolve.frontend import front_end

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "configure"
REVISION = 1
BUILD_DIR = "{source}/build"


class Plan(StagePlan):
    """What is configured, and what must come of it."""

    expect: tuple[Expectation, ...]
    """What the gate compares."""


class Result(StageResult):
    """What CMake made of the request."""


def plan(lock: Lock) -> Plan:
    """The front end's command, with the shim under orders to stop at the gate."""
    fields = ("environ", "defines", "expect", "era", "epoch", "compiler_cache")
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, lock_part(lock, *fields)),
        needs=("source",),
        makes=("{shim}/gate.json", f"{BUILD_DIR}/build.ninja"),
        commands=(front_end(lock),),
        expect=lock.expect,
    )


def run(plan: Plan, context: Context) -> Result:
    """Configure in an empty build tree and read the cache back. Refused means: nothing was compiled."""
    inside = context.workspace.inside
    for path in (BUILD_DIR, "{dist}"):
        shutil.rmtree(inside(path), ignore_errors=True)
    inside("{dist}").mkdir(parents=True)
    gate = inside("{shim}/gate.json")
    gate.unlink(missing_ok=True)
    order = {
        "mode": "gate",
        "build_dir": f"{BUILD_ROOT}/source/build",
        "expect": [item.model_dump(mode="json") for item in plan.expect],
    }
    inside("{shim}/order.json").write_text(json.dumps(order), encoding="utf-8")
    log = context.workspace.logs / f"{NAME}.log"
    done = context.executor.run(plan.commands[0], log=log)
    if not gate.exists():
        raise StageError(
            "configure-failed",
            f"the tree did not configure (exit code {done.exit_code})",
            why=_last_cmake_error(done.tail) or "the front end ended before its first build call",
            fix=f"Read {log}; then `torchbuild shell {context.workspace.run}` to look around.",
            evidence=done.tail[-30:],
            link=str(log),
        )
    findings = tuple(
        Finding.model_validate(item) for item in json.loads(gate.read_text(encoding="utf-8"))["findings"]
    )
    _refuse(findings, str(log))
    evidence: dict[str, Any] = {"configure_seconds": f"{done.seconds:.1f}", "compared": str(len(findings))}
    return Result(
        summary=f"{len(findings)} values compared with the lock, all equal",
        findings=findings,
        evidence=tuple(sorted(evidence.items())),
    )


def _refuse(findings: tuple[Finding, ...], log: str) -> None:
    wrong = failures(findings)
    if not wrong:
        return
    raise StageError(
        "gate-refused",
        f"{len(wrong)} of {len(findings)} values are not what was asked for; nothing was compiled",
        why=tuple(f"[{item.reference}] {item.what}: wanted {item.wanted}, got {item.seen}" for item in wrong),
        fix="Look at the configure log for the first of these names; correct the recipe or the builder.",
        link=log,
    )


def _last_cmake_error(tail: tuple[str, ...]) -> str:
    return next(
        (line.strip() for line in tail if "CMake Error" in line or line.lstrip().startswith("Error")), ""
    )
