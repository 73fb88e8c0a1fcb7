"""verify: the wheel in an empty environment, from locked files, imported from outside the tree, and used."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from torchbuild.context import Completed, Context
from torchbuild.errors import VerifyError
from torchbuild.inspection.config_show import compare_config, parse_config_show
from torchbuild.model.command import BUILD_ROOT, Command
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
CONFIG = "smoke-config"


class Plan(StagePlan):
    """What is installed and what must be shown."""

    requirements: str
    """Locked files of the verify environment; the wheel's own line is added with its digest."""
    verify: LockedVerify
    """What must be shown."""


class Result(StageResult):
    """What was shown."""


def plan(lock: Lock) -> Plan:
    """An empty venv, the wheel by hash, `pip check`, then the run-time checks; nothing at level static."""
    is_static = lock.verify.level == "static"
    files = requirement_lines(f"{BUILD_ROOT}/inputs/run", lock.run_requires)
    files += requirement_lines(f"{BUILD_ROOT}/inputs/verify", lock.verify_requires)
    fields = ("verify", "run_requires", "verify_requires", "wheel")
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, lock_part(lock, *fields)),
        needs=("compile",),
        makes=() if is_static else (f"{HOME}/verify.json",),
        commands=() if is_static else _commands(lock),
        requirements=files,
        verify=lock.verify,
    )


def _commands(lock: Lock) -> tuple[Command, ...]:
    smoke = ("-I", f"{HOME}/smoke.pyz", "--package", lock.wheel.package)
    return (
        plain(lock, lock.python.executable, "-I", "-m", "venv", "--without-pip", "--clear", f"{HOME}/venv"),
        install_command(lock, PYTHON, f"{HOME}/requirements.txt"),
        plain(lock, PYTHON, "-I", pip_wheel(lock), "check", cwd=HOME),
        plain(lock, PYTHON, *smoke, cwd=HOME),
    )


def run(plan: Plan, context: Context) -> Result:
    """Install, check, use; refuse with all that is wrong."""
    if not plan.commands:
        why = "run-time checks: the recipe asks for level static"
        return Result(
            summary="not run: level static",
            findings=_told((Finding(reference="verify-run", outcome="not run", what=why),), context),
        )
    home, trees = context.workspace.inside(HOME), context.trees
    trees.remove(home)
    for folder in (home, context.workspace.inside("{work}/home"), context.workspace.inside("{work}/tmp")):
        trees.make(folder)
    _install(plan, context)
    bundle(home / "smoke.pyz")
    shown, settings = _smoke(plan, context)
    findings = (*shown, *compare_config(parse_config_show(settings), plan.verify.settings))
    findings = _told((*findings, *_required(plan, findings)), context)
    _refuse(findings, context)
    text = json.dumps([item.model_dump(mode="json") for item in findings], indent=1)
    trees.write(home / "verify.json", text + "\n")
    passed = sum(item.outcome == "passed" for item in findings)
    not_run = sum(item.outcome == "not run" for item in findings)
    return Result(summary=f"{passed} checks passed, {not_run} not run", findings=findings)


def _told(findings: tuple[Finding, ...], context: Context) -> tuple[Finding, ...]:
    for finding in findings:
        context.reporter.emit(Found(stage=NAME, finding=finding))
    return findings


def _install(plan: Plan, context: Context) -> None:
    trees = context.trees
    wheel = trees.only_wheel(context.workspace.inside("{dist}"))
    digest = trees.file_digest(wheel)
    lines = plan.requirements + f"file://{BUILD_ROOT}/dist/{wheel.name} --hash=sha256:{digest}\n"
    trees.write(context.workspace.inside(f"{HOME}/requirements.txt"), lines)
    log = context.workspace.logs / f"{NAME}.log"
    steps = ("an empty environment", "the wheel and its locked requirements, by hash", "`pip check`")
    for index, (command, what) in enumerate(zip(plan.commands[:3], steps, strict=True)):
        done = context.executor.run(command, log=log, append=index > 0)
        if done.exit_code != 0:
            raise VerifyError(
                "wheel-does-not-install",
                f"{wheel.name} does not install: {what} failed",
                why=tuple(line for line in done.tail[-5:] if line.strip()) or f"exit code {done.exit_code}",
                fix="Compare wheel.requires of the recipe with the wheel's METADATA, then lock anew.",
                evidence=done.tail[-20:],
                link=str(log),
            )


def _smoke(plan: Plan, context: Context) -> tuple[tuple[Finding, ...], str]:
    """What the checks found, and the text of ``config.show()``."""
    done = context.executor.run(plan.commands[3], log=context.workspace.logs / "verify-checks.log")
    try:
        findings = tuple(
            Finding.model_validate(item) for item in _document(context.trees.read(done.log) or "")["findings"]
        )
    except (ValueError, TypeError, KeyError, RecursionError, ValidationError) as error:
        raise _speechless(done, context) from error
    if not findings:
        raise _speechless(done, context)
    return findings, next((item.seen for item in findings if item.reference == CONFIG), "")


def _document(text: str) -> Any:  # noqa: ANN401  any JSON value
    """The checks' report: the last object that begins a line of its own, whatever else was said."""
    start = max(text.rfind("\n{\n") + 1, 0)
    return json.JSONDecoder().raw_decode(text, start)[0]


def _speechless(done: Completed, context: Context) -> VerifyError:
    return VerifyError(
        "checks-did-not-report",
        "the run-time checks ended without a result",
        why=f"exit code {done.exit_code}",
        fix=f"Look around in the environment: torchbuild shell {context.workspace.run}",
        evidence=done.tail[-20:],
        link=str(done.log),
    )


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
            fix=f"Look around with `torchbuild shell {context.workspace.run}`; correct the recipe.",
            link=str(context.workspace.logs / "verify-checks.log"),
        )
