"""verify: the wheel in an empty environment, from locked files, imported from outside the tree, and used."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from pydantic import ValidationError

from torchbuild.context import Completed, Context
from torchbuild.errors import VerifyError
from torchbuild.inspection.config_show import compare_config, compare_flags, parse_config_show
from torchbuild.knowledge.own_sources import sources_digest
from torchbuild.knowledge.tables import option_facts
from torchbuild.model.command import BUILD_ROOT, Command
from torchbuild.model.finding import Finding, failures
from torchbuild.model.lock import Lock, LockedVerify
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Found
from torchbuild.resolve.frontend import install_command, pip_wheel, plain, requirement_lines
from torchbuild.resolve.orders import printed_document
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
    flags: dict[str, str]
    """``ON`` or ``OFF`` by flag: what `config.show()` must not contradict."""
    is_whole: bool
    """Whether `flags` names each option that is on: then any other must be off."""


class Result(StageResult):
    """What was shown."""


def plan(lock: Lock) -> Plan:
    """An empty venv, the wheel by hash, `pip check`, then the run-time checks; nothing at level static."""
    is_static = lock.verify.level == "static"
    files = requirement_lines(f"{BUILD_ROOT}/inputs/run", lock.run_requires)
    files += requirement_lines(f"{BUILD_ROOT}/inputs/verify", lock.verify_requires)
    fields = ("verify", "run_requires", "verify_requires", "wheel", "expect")
    printed = {item.name: item.value for item in option_facts().printed}
    inputs = lock_part(lock, *fields) | {"checks": sources_digest("smoke", "inspection"), "printed": printed}
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, inputs),
        needs=(
            "compile",
        ),  # a wheel that package refused can still be asked what it does; publish needs both
        makes=() if is_static else (f"{HOME}/verify.json",),
        commands=() if is_static else _commands(lock),
        requirements=files,
        verify=lock.verify,
        flags=_flags(lock),
        is_whole=any(item.kind == "only" for item in lock.expect),
    )


def _flags(lock: Lock) -> dict[str, str]:
    """What the gate compared."""
    rows = {item.key: item.value for item in lock.expect if item.kind in ("switch", "option")}
    return {item.name: item.value for item in option_facts().printed} | rows


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
    wheel, digest = _inspected_wheel(context)
    evidence = (("sha256", digest), ("wheel", wheel.name))
    if not plan.commands:
        why = "run-time checks: the recipe asks for level static"
        findings = _told((Finding(reference="verify-run", outcome="not run", what=why),), context)
        return Result(summary="not run: level static", findings=findings, evidence=evidence)
    home, trees = context.workspace.inside(HOME), context.trees
    trees.remove(home)
    for folder in (home, context.workspace.inside("{work}/home"), context.workspace.inside("{work}/tmp")):
        trees.make(folder)
    _install(plan, wheel.name, digest, context)
    bundle(home / "smoke.pyz")
    findings = _told(_shown(plan, context), context)
    _refuse(findings, context)
    text = json.dumps([item.model_dump(mode="json") for item in findings], indent=1)
    trees.write(home / "verify.json", text + "\n")
    return Result(summary=_counted(findings), findings=findings, evidence=evidence)


def _inspected_wheel(context: Context) -> tuple[Path, str]:
    """The wheel and its digest: the very bytes that package read, where it has passed one.

    The build could write there meanwhile.
    """
    wheel = context.trees.only_wheel(context.workspace.inside("{dist}"))
    digest, wanted = context.trees.file_digest(wheel), context.records.evidence("package").get("sha256", "")
    if wanted and digest != wanted:
        raise VerifyError(
            "wheel-changed",
            f"{wheel.name} is not the wheel that was inspected",
            why=(f"seen sha256 {digest}", f"wanted sha256 {wanted}"),
            fix="Find out what writes into the build's dist directory, then run the same command again.",
            link=str(wheel),
        )
    return wheel, digest


def _shown(plan: Plan, context: Context) -> tuple[Finding, ...]:
    """What the checks saw, what the wheel says of itself, and what was required and not shown."""
    checks, text = _smoke(plan, context)
    settings = parse_config_show(text)
    said = compare_config(settings, plan.verify.settings)
    said += compare_flags(settings, plan.flags | plan.verify.settings, is_whole=plan.is_whole)
    return (*checks, *said, *_required(plan, checks))


def _counted(findings: tuple[Finding, ...]) -> str:
    count = Counter(item.outcome for item in findings)
    more = f", {count['warned']} warned" if count["warned"] else ""
    return f"{count['passed']} checks passed, {count['not run']} not run{more}"


def _told(findings: tuple[Finding, ...], context: Context) -> tuple[Finding, ...]:
    for finding in findings:
        context.reporter.emit(Found(stage=NAME, finding=finding))
    return findings


def _install(plan: Plan, name: str, digest: str, context: Context) -> None:
    lines = plan.requirements + f"file://{BUILD_ROOT}/dist/{name} --hash=sha256:{digest}\n"
    context.trees.write(context.workspace.inside(f"{HOME}/requirements.txt"), lines)
    log = context.workspace.logs / f"{NAME}.log"
    steps = ("an empty environment", "the wheel and its locked requirements, by hash", "`pip check`")
    for index, (command, what) in enumerate(zip(plan.commands[:3], steps, strict=True)):
        done = context.executor.run(command, log=log, append=index > 0)
        if done.exit_code != 0:
            raise VerifyError(
                "wheel-does-not-install",
                f"{name} does not install: {what} failed",
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
            Finding.model_validate(item)
            for item in printed_document(context.trees.read(done.log) or "")["findings"]
        )
    except (ValueError, TypeError, KeyError, RecursionError, ValidationError) as error:
        raise _speechless(done, context) from error
    if not findings:
        raise _speechless(done, context)
    return findings, next((item.seen for item in findings if item.reference == CONFIG), "")


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
