"""verify: the wheel in an empty environment, from locked files, imported from outside the tree, and used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from torchbuild.context import Context
from torchbuild.errors import VerifyError
from torchbuild.inspection.config_show import compare_config, parse_config_show
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.finding import Finding, failures
from torchbuild.model.lock import Lock, LockedVerify
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Found
from torchbuild.resolve.frontend import install_command, pip_wheel, plain, requirement_lines
from torchbuild.smoke.bundle import bundle

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "verify"
REVISION = 1
HOME = "{work}/verify"
PYTHON = f"{HOME}/venv/bin/python"


class Plan(StagePlan):
    """What is installed and what must be shown."""

    requirements: str
    """Locked files of the verify environment; the wheel's own line is added with its digest."""
    verify: LockedVerify
    """What must be shown."""


class Result(StageResult):
    """What was shown."""


def plan(lock: Lock) -> Plan:
    """An empty venv, the wheel by hash, `pip check`, then the run-time checks."""
    files = requirement_lines(f"{BUILD_ROOT}/inputs/run", lock.run_requires)
    files += requirement_lines(f"{BUILD_ROOT}/inputs/verify", lock.verify_requires)
    smoke = ("-I", f"{HOME}/smoke.pyz", "--package", lock.wheel.package)
    fields = ("verify", "run_requires", "verify_requires", "wheel")
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, lock_part(lock, *fields)),
        needs=("compile",),
        makes=(f"{HOME}/verify.json",),
        commands=(
            plain(
                lock, lock.python.executable, "-I", "-m", "venv", "--without-pip", "--clear", f"{HOME}/venv"
            ),
            install_command(lock, PYTHON, f"{HOME}/requirements.txt"),
            plain(lock, PYTHON, "-I", pip_wheel(lock), "check", cwd=HOME),
            plain(lock, PYTHON, *smoke, cwd=HOME),
        ),
        requirements=files,
        verify=lock.verify,
    )


def run(plan: Plan, context: Context) -> Result:
    """Install, check, use; refuse with all that is wrong."""
    if plan.verify.level == "static":
        note = Finding(
            reference="verify-run",
            outcome="not run",
            what="run-time checks: the recipe asks for level static",
        )
        return Result(summary="not run: level static", findings=(note,))
    home = context.workspace.inside(HOME)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    _install(plan, context)
    bundle(home / "smoke.pyz")
    report = _smoke(plan, context)
    shown = tuple(Finding.model_validate(item) for item in report["findings"])
    findings = (*shown, *_settings(plan, report))
    findings = (*findings, *_required(plan, findings))
    for finding in findings:
        context.reporter.emit(Found(stage=NAME, finding=finding))
    _refuse(findings, context)
    (home / "verify.json").write_text(
        json.dumps([item.model_dump(mode="json") for item in findings], indent=1), encoding="utf-8"
    )
    passed = sum(item.outcome == "passed" for item in findings)
    not_run = sum(item.outcome == "not run" for item in findings)
    return Result(summary=f"{passed} checks passed, {not_run} not run", findings=findings)


def _install(plan: Plan, context: Context) -> None:
    wheel = context.trees.only_wheel(context.workspace.inside("{dist}"))
    digest = context.trees.file_digest(wheel)
    lines = plan.requirements + f"file://{BUILD_ROOT}/dist/{wheel.name} --hash=sha256:{digest}\n"
    context.workspace.inside(f"{HOME}/requirements.txt").write_text(lines, encoding="utf-8")
    log = context.workspace.logs / f"{NAME}.log"
    steps = ("an empty environment", "the wheel and its locked requirements, by hash", "`pip check`")
    for index, (command, what) in enumerate(zip(plan.commands[:3], steps, strict=True)):
        done = context.executor.run(command, log=log, append=index > 0)
        if done.exit_code != 0:
            raise VerifyError(
                "wheel-does-not-install",
                f"{wheel.name} does not install: {what} failed",
                why=tuple(line for line in done.tail[-5:] if line.strip()) or f"exit code {done.exit_code}",
                fix="Compare wheel.requires of the recipe with the wheel's METADATA, then make the lock anew.",
                evidence=done.tail[-20:],
                link=str(log),
            )


def _smoke(plan: Plan, context: Context) -> dict[str, Any]:
    log = context.workspace.logs / "verify-checks.log"
    done = context.executor.run(plan.commands[3], log=log)
    text = Path(done.log).read_text(encoding="utf-8", errors="replace")
    try:
        report: dict[str, Any] = json.loads(text[text.index("{") :])
    except ValueError as error:
        raise VerifyError(
            "checks-did-not-report",
            "the run-time checks ended without a result",
            why=f"exit code {done.exit_code}",
            fix=f"Read {log}; then `torchbuild shell {context.workspace.run}`.",
            evidence=done.tail[-20:],
            link=str(log),
        ) from error
    return report


def _settings(plan: Plan, report: dict[str, Any]) -> tuple[Finding, ...]:
    """The build settings that the wheel itself prints, against the lock."""
    text = next((item["seen"] for item in report["findings"] if item["reference"] == "smoke-config"), "")
    return compare_config(parse_config_show(text), plan.verify.settings)


def _required(plan: Plan, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """A required check that did not pass is a failure, `not run` above all."""
    outcomes: dict[str, set[str]] = {}
    for item in findings:
        outcomes.setdefault(item.reference, set()).add(item.outcome)
    missing = []
    for name in plan.verify.require:
        seen = outcomes.get(f"smoke-{name}", {"no such check"})
        if "passed" not in seen and "failed" not in seen:
            missing.append(
                Finding(
                    reference="verify-required",
                    outcome="failed",
                    what=f"required check {name}",
                    seen=", ".join(sorted(seen)),
                    wanted="passed",
                )
            )
    return tuple(missing)


def _refuse(findings: tuple[Finding, ...], context: Context) -> None:
    wrong = failures(findings)
    if wrong:
        raise VerifyError(
            "wheel-fails-checks",
            f"the wheel does not do what was asked: {len(wrong)} of {len(findings)} checks failed",
            why=tuple(
                f"[{item.reference}] {item.what}: {item.seen}"
                + (f", wanted {item.wanted}" if item.wanted else "")
                for item in wrong
            ),
            fix=f"Look into the environment with `torchbuild shell {context.workspace.run}`; correct the recipe.",
            link=str(context.workspace.logs / "verify-checks.log"),
        )
