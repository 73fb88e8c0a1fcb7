"""toolchain: the build environment from the locked wheels, our ninja in it, and proof of what it is."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name, parse_wheel_filename

from torchbuild.context import Context
from torchbuild.errors import StageError
from torchbuild.model.artifact import Artifact
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.finding import Finding, failures
from torchbuild.model.lock import Lock, LockedPython
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.resolve.frontend import VENV_PYTHON, install_command, plain, requirement_lines

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "toolchain"
REVISION = 1
REQUIREMENTS = "{work}/build-requirements.txt"
SHIM = f"""#!{BUILD_ROOT}/venv/bin/python -IS
import sys

sys.path.insert(0, "{BUILD_ROOT}/shim")
from torchbuild_shim.ninja import main

sys.exit(main())
"""


class Plan(StagePlan):
    """What is installed, and what it must turn out to be."""

    requirements: str
    """The requirements file, each wheel by path and hash."""
    packages: tuple[tuple[str, str], ...]
    """Distributions and their versions."""
    python: LockedPython
    """The interpreter."""
    compiler: str
    """What the C++ compiler must say it is."""


class Result(StageResult):
    """What the build environment is."""


def plan(lock: Lock) -> Plan:
    """Make the venv, install by hash, probe."""
    probe = ("{shim}/torchbuild_shim/probe.py", lock.cc, lock.cxx, "{venv}/bin/cmake", "{shim}/ninja-real")
    fields = ("python", "cc", "cxx", "compiler", "image", "build_requires", "epoch")
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, lock_part(lock, *fields)),
        needs=("fetch",),
        makes=("{venv}", "{shim}/torchbuild_shim", "{shim}/ninja-real"),
        commands=(
            plain(lock, lock.python.executable, "-I", "-m", "venv", "--without-pip", "--clear", "{venv}"),
            install_command(lock, VENV_PYTHON, REQUIREMENTS),
            plain(lock, VENV_PYTHON, "-I", *probe, "{work}/tmp/probe"),
        ),
        requirements=requirement_lines(f"{BUILD_ROOT}/inputs/build", lock.build_requires),
        packages=tuple(sorted(_package(item) for item in lock.build_requires)),
        python=lock.python,
        compiler=lock.compiler,
    )


def _package(artifact: Artifact) -> tuple[str, str]:
    name, version, _, _ = parse_wheel_filename(artifact.name)
    return str(canonicalize_name(name)), str(version)


def run(plan: Plan, context: Context) -> Result:
    """Build the environment, then read back what it is."""
    log = context.workspace.logs / f"{NAME}.log"
    make, install, _ = plan.commands
    for folder in ("home", "tmp", "dist", "shim"):
        context.workspace.inside("{work}/" + folder).mkdir(parents=True, exist_ok=True)
    context.workspace.inside(REQUIREMENTS).write_text(plan.requirements, encoding="utf-8")
    for append, command in ((False, make), (True, install)):
        done = context.executor.run(command, log=log, append=append)
        if done.exit_code != 0:
            raise StageError(
                "toolchain-failed",
                "the build environment could not be made",
                why=f"exit code {done.exit_code} of {' '.join(command.argv[:4])} …",
                fix=f"Read {log}; the cause is in the lines above.",
                evidence=done.tail[-20:],
                link=str(log),
            )
    _lay_shim(context)
    seen = _probe(plan, context)
    findings = tuple(_judge(plan, seen))
    wrong = failures(findings)
    if wrong:
        raise StageError(
            "toolchain-not-as-locked",
            f"the build environment is not what the lock says: {', '.join(item.reference for item in wrong)}",
            why=tuple(f"{item.what}: seen {item.seen}, wanted {item.wanted}" for item in wrong),
            fix="Make the lock anew with `torchbuild lock` if the builder changed, or repair the builder.",
            link=str(log),
        )
    evidence = tuple((name, str(seen[name])) for name in ("version", "cxx", "cmake", "ninja"))
    return Result(
        summary=f"Python {seen['version']}, {seen['cxx']}, {seen['cmake']}",
        findings=findings,
        evidence=evidence,
    )


def _lay_shim(context: Context) -> None:
    """Our ninja takes the place of the real one, which moves beside the orders."""
    inside = context.workspace.inside
    real, ours = inside("{shim}/ninja-real"), inside("{venv}/bin/ninja")
    ours.replace(real)
    ours.write_text(SHIM, encoding="utf-8")
    ours.chmod(0o755)
    package = inside("{shim}/torchbuild_shim")
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    for item in files("torchbuild.shim").iterdir():
        if item.name.endswith(".py"):
            (package / item.name).write_text(item.read_text(encoding="utf-8"), encoding="utf-8")
    inside("{shim}/order.json").unlink(missing_ok=True)


def _probe(plan: Plan, context: Context) -> dict[str, Any]:
    log = context.workspace.logs / "toolchain-probe.log"
    done = context.executor.run(plan.commands[2], log=log)
    try:
        seen: dict[str, Any] = json.loads(Path(done.log).read_text(encoding="utf-8"))
    except ValueError as error:
        raise StageError(
            "toolchain-probe-failed",
            "the interpreter of the build environment does not start as it should",
            why=f"exit code {done.exit_code}; wanted a report of itself",
            fix=f"Read {log}; repair the interpreter, or lock another one.",
            evidence=done.tail[-20:],
            link=str(log),
        ) from error
    return seen


def _judge(plan: Plan, seen: dict[str, Any]) -> list[Finding]:
    python = plan.python
    installed = seen["distributions"]
    wrong = [
        f"{name} {installed.get(name, 'missing')} instead of {version}"
        for name, version in plan.packages
        if installed.get(name) != version
    ]
    extra = sorted(set(installed) - {name for name, _ in plan.packages})
    return [
        _equal("toolchain-python", "version of the interpreter", seen["version"], python.version),
        _equal("toolchain-python-abi", "SOABI of the interpreter", seen["soabi"], python.soabi),
        _equal(
            "toolchain-python-path", "interpreter behind the venv", seen["base_executable"], python.executable
        ),
        _equal("toolchain-python-headers", f"Python.h in {seen['include']}", str(seen["python_h"]), "True"),
        _equal("toolchain-packages", "build requirements", "; ".join(wrong) or "as locked", "as locked"),
        _equal("toolchain-foreign-packages", "packages nobody asked for", ", ".join(extra) or "none", "none"),
        _equal("toolchain-compiler", "C++ compiler", seen["cxx"], plan.compiler),
        _equal(
            "toolchain-compiles",
            "a small C++ program",
            seen["compiles"] or "compiles and runs",
            "compiles and runs",
        ),
    ]


def _equal(reference: str, what: str, seen: str, wanted: str) -> Finding:
    outcome = "passed" if seen == wanted else "failed"
    return Finding.model_validate(
        {"reference": reference, "outcome": outcome, "what": what, "seen": seen, "wanted": wanted}
    )
