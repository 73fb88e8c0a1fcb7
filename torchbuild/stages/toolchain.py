"""toolchain: the build environment from the locked wheels, our ninja in it, and proof of what it is."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib.resources import files
from typing import Any

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion

from torchbuild.context import Completed, Context
from torchbuild.errors import LockError, StageError
from torchbuild.inspection.gpu_code_build import library_covers
from torchbuild.knowledge.own_sources import sources_digest
from torchbuild.model.artifact import Artifact
from torchbuild.model.command import BUILD_ROOT, Command
from torchbuild.model.finding import Finding, Outcome, failures
from torchbuild.model.lock import Lock, LockedPython
from torchbuild.model.part import PARTS
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Found
from torchbuild.resolve.frontend import VENV_PYTHON, install_command, plain, requirement_lines
from torchbuild.resolve.orders import printed_document
from torchbuild.resolve.part_kinds import Guest, Program, wanted_of
from torchbuild.resolve.planned_parts import PlannedPart, PlannedStep, is_in_the_tree, planned_parts, steps_of
from torchbuild.toolchains.nccl_source import SOURCE, built_sass
from torchbuild.toolchains.proof import Wanted, judge
from torchbuild.toolchains.python_proof import numpy_finding

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "toolchain"
REVISION = 1
_MOST_WHY = 300
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
    compiler_c: str
    """What the C compiler must say it is; empty where the lock does not know."""
    parts: tuple[PlannedPart, ...]
    """Toolkit and libraries."""
    wanted: Wanted
    """What they are compared with."""
    torch: str
    """Public version of the wheel; empty for another package."""
    has_image: bool
    """Whether an image pins what the lock does not: the compilers' and the interpreter's own files."""


class Result(StageResult):
    """What the build environment is."""


def plan(lock: Lock) -> Plan:
    """Make the venv, install by hash, probe."""
    probe = ("{shim}/torchbuild_shim/probe.py", lock.cc, lock.cxx, "{venv}/bin/cmake", "{shim}/ninja-real")
    fields = ("python", "cc", "cxx", "compiler", "compiler_c", "image", "build_requires", "epoch")
    inputs = lock_part(lock, *fields) | {"shim": sources_digest("shim")}
    if lock.parts:
        inputs |= lock_part(lock, "parts", "gpu_archs") | {"checks": sources_digest("toolchains")}
    parts = planned_parts(lock, VENV_PYTHON, plain(lock).environ)
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, inputs),
        needs=("fetch",),
        makes=("{venv}", "{shim}/torchbuild_shim", "{shim}/ninja-real", *((PARTS,) if parts else ())),
        commands=(
            plain(lock, lock.python.executable, "-I", "-m", "venv", "--without-pip", "--clear", "{venv}"),
            install_command(lock, VENV_PYTHON, REQUIREMENTS),
            plain(lock, VENV_PYTHON, "-I", *probe, "{work}/tmp/probe"),
            *(command for item in parts for step in item.steps for command in step.commands),
        ),
        requirements=requirement_lines(f"{BUILD_ROOT}/inputs/build", lock.build_requires),
        packages=tuple(sorted(_package(item) for item in lock.build_requires)),
        python=lock.python,
        compiler=lock.compiler,
        compiler_c=lock.compiler_c or "",
        parts=parts,
        wanted=wanted_of(lock),
        torch=lock.wheel.public_version if lock.wheel.package == "torch" else "",
        has_image=lock.image is not None,
    )


def _package(artifact: Artifact) -> tuple[str, str]:
    try:
        name, version, _, _ = parse_wheel_filename(artifact.name)
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise LockError(
            "lock-requirement-not-a-wheel",
            f"the lock's build requirement {artifact.locator} is not a wheel",
            why=str(error),
            fix="Make the lock anew with `torchbuild lock`.",
        ) from error
    return str(canonicalize_name(name)), str(version)


def run(plan: Plan, context: Context) -> Result:
    """Build the environment, then read back what it is."""
    _lay_guests(context)
    findings = _proven(plan, context, is_before=True)
    _make(plan, context)
    _lay_shim(context)
    seen = _probe(plan, context)
    findings = (*_judge(plan, seen), *findings, *_proven(plan, context, is_before=False), *_numpy(plan))
    for finding in findings:
        context.reporter.emit(Found(stage=NAME, finding=finding))
    wrong = failures(findings)
    if wrong:
        raise StageError(
            "toolchain-not-as-locked",
            f"the build environment is not what the lock says: {', '.join(item.reference for item in wrong)}",
            why=tuple(f"{item.what}: seen {item.seen}, wanted {item.wanted}" for item in wrong),
            fix="Make the lock anew with `torchbuild lock` if the builder changed, or repair the builder.",
            link=str(context.workspace.logs / "toolchain-probe.log"),
        )
    evidence = tuple((name, str(seen[name])) for name in ("cc", "cmake", "cxx", "ninja", "version"))
    parts = "".join(
        f", {item.part.name} {item.part.version}".rstrip()
        for item in plan.parts
        if item.part.name != "python"
    )
    return Result(
        summary=f"Python {seen['version']}, {seen['cxx']}, {seen['cmake']}{parts}",
        findings=findings,
        evidence=evidence,
        rests_on=() if plan.has_image else tuple(seen["files"]),
    )


def _make(plan: Plan, context: Context) -> None:
    inside, trees = context.workspace.inside, context.trees
    trees.write(inside(REQUIREMENTS), plan.requirements)
    log = context.workspace.logs / f"{NAME}.log"
    for index, command in enumerate(plan.commands[:2]):
        done = context.executor.run(command, log=log, append=index > 0)
        if done.exit_code != 0:
            raise _failed(command, done)


def _failed(command: Command, done: Completed) -> StageError:
    return StageError(
        "toolchain-failed",
        "the build environment could not be made",
        why=f"exit code {done.exit_code} of {' '.join(command.argv[:4])} …",
        fix="Mend what the lines above name, then run the same command again.",
        evidence=done.tail[-20:],
        link=str(done.log),
    )


def _lay_guests(context: Context) -> None:
    """What runs inside the build, laid anew; no old order stays, and nothing of another lock's parts."""
    inside, trees = context.workspace.inside, context.trees
    for place in ("{shim}", PARTS, "{work}/parts-build"):
        trees.remove(inside(place))
    for folder in ("home", "tmp", "dist"):
        trees.make(inside("{work}/" + folder))
    for item in files("torchbuild.shim").iterdir():
        if item.name.endswith(".py"):
            trees.write(inside("{shim}/torchbuild_shim/" + item.name), item.read_text(encoding="utf-8"))


def _lay_shim(context: Context) -> None:
    """Our ninja takes the place of the real one, which moves beside the orders."""
    inside, trees = context.workspace.inside, context.trees
    real, ours = inside("{shim}/ninja-real"), inside("{venv}/bin/ninja")
    if not ours.is_file():
        raise LockError(
            "lock-lacks-ninja",
            "the lock's build requirements bring no ninja",
            why="wanted a wheel that installs bin/ninja",
            fix="Make the lock anew with `torchbuild lock`.",
        )
    trees.move(ours, real)
    trees.write(ours, SHIM, mode=0o755)


def _proven(plan: Plan, context: Context, *, is_before: bool) -> tuple[Finding, ...]:
    """The findings of every part; an interpreter of ours is laid and proven before all else is made."""
    ours = [item for item in plan.parts if item.part.name == "python" and item.part.is_ours]
    parts = ours if is_before else [item for item in plan.parts if item not in ours]
    return tuple(finding for item in parts for finding in _part(item, plan, context))


def _part(item: PlannedPart, plan: Plan, context: Context) -> tuple[Finding, ...]:
    """Lay one part, make it whole, look at it, and judge what was seen. What failed ends the making."""
    if is_in_the_tree(item.part):
        what = f"{item.part.name}, which the tree builds by itself: it is not there yet, the gate looks"
        return (Finding(reference="library-version", outcome="not run", what=what),)
    _lay(item, context)
    findings: list[Finding] = []
    completed: dict[str, Any] = {}
    for step, planned in zip(steps_of(item.part), item.steps, strict=True):
        done = _run_step(planned, item, context, is_guest=isinstance(step, Guest))
        if isinstance(step, Program):
            found = tuple(step.says(plan.wanted, context.trees.read(done.log) or ""))
        else:
            seen = _printed(done, context)
            found = _judged(step, item, plan, {"completed": completed} | seen, done)
            completed = seen if step.is_completion else completed
            if failures(found) and step.error is not None:
                _raise_own(step.error(item.part, found, seen, str(done.log)), found, context)
        findings += found
        if failures(found):
            return tuple(findings)
    return (*findings, *_code_of_nccl(item, plan, context))


def _judged(
    step: Guest, item: PlannedPart, plan: Plan, seen: dict[str, Any], done: Completed
) -> tuple[Finding, ...]:
    """What a script printed, judged; one that prints other things than it should has shown nothing."""
    try:
        return judge(step.checks, item.part, plan.wanted, seen)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _not_seen(done, f"{type(error).__name__}: {error}"[:_MOST_WHY]) from error


def _code_of_nccl(item: PlannedPart, plan: Plan, context: Context) -> tuple[Finding, ...]:
    """Whether each chip of the recipe can run what lies in the library; one built here holds nothing else."""
    part, wanted = item.part, plan.wanted
    if part.name != "nccl" or not part.is_ours:
        return ()
    exact = built_sass(wanted.archs, wanted.cuda) if part.provider == "source" else ()
    folder = context.workspace.inside(part.prefix) / "lib"
    return library_covers(folder, "libnccl.so.*", wanted.archs, exact)


def _raise_own(error: StageError | None, found: tuple[Finding, ...], context: Context) -> None:
    """Where a step knows more of a failure than its findings say, it is told in its words."""
    if error is not None:
        for finding in found:
            context.reporter.emit(Found(stage=NAME, finding=finding))
        raise error


def _run_step(planned: PlannedStep, item: PlannedPart, context: Context, *, is_guest: bool) -> Completed:
    """One step, run in the build; its own log holds all that it said."""
    log = context.workspace.logs / f"{NAME}-{planned.name}.log"
    if planned.request is not None:
        context.trees.write(context.workspace.inside(planned.request[0]), planned.request[1])
    done = None
    for command in planned.commands:
        done = context.executor.run(_with_jobs(command, context), log=log, append=done is not None)
        if done.exit_code != 0:
            raise _not_seen(done, f"exit code {done.exit_code}") if is_guest else _not_made(item, done)
    if done is None:
        raise ValueError(f"step {planned.name} has no command")
    return done


def _with_jobs(command: Command, context: Context) -> Command:
    """How many compilers at a time is this machine's, and in no plan."""
    jobs = context.executor.environment().get("MAX_JOBS", "1")
    return command.model_copy(update={"argv": tuple(text.replace("{jobs}", jobs) for text in command.argv)})


def _lay(item: PlannedPart, context: Context) -> None:
    """Archives into the prefix, each unpacked apart and then moved in; a source lies beside it."""
    inside, trees, part = context.workspace.inside, context.trees, item.part
    if not part.is_ours:
        return
    fresh = inside(f"{part.prefix}-new")
    trees.make(inside(part.prefix))
    for piece in part.pieces:
        if piece.how == "source":
            trees.unpack(piece.artifact, inside(SOURCE), strip=piece.strip)
        elif piece.how == "unpack":
            trees.unpack(piece.artifact, fresh, strip=piece.strip, only=piece.only or None)
            trees.merge(fresh / piece.only, inside(part.prefix) / piece.to)
            trees.remove(fresh)


def _not_made(item: PlannedPart, done: Completed) -> StageError:
    return StageError(
        "part-not-made",
        f"{item.part.name} {item.part.version} could not be made of its pieces",
        why=f"exit code {done.exit_code}",
        fix="Mend what the lines above name, then run the same command again.",
        evidence=done.tail[-20:],
        link=str(done.log),
    )


def _printed(done: Completed, context: Context) -> dict[str, Any]:
    """The last line that is a document: what the guest script saw."""
    for line in reversed((context.trees.read(done.log) or "").splitlines()):
        with suppress(ValueError, RecursionError):
            seen = json.loads(line)
            if isinstance(seen, dict):
                return seen
    raise _not_seen(done, f"exit code {done.exit_code}; wanted one line of JSON")


def _not_seen(done: Completed, why: str) -> StageError:
    return StageError(
        "part-not-seen",
        "a script that looks at a part of the toolchain printed nothing that can be read",
        why=why,
        fix="Mend what the lines above name, then run the same command again.",
        evidence=done.tail[-20:],
        link=str(done.log),
    )


def _probe(plan: Plan, context: Context) -> dict[str, Any]:
    log = context.workspace.logs / "toolchain-probe.log"
    done = context.executor.run(plan.commands[2], log=log)
    try:
        seen: dict[str, Any] = printed_document(context.trees.read(done.log) or "")
    except ValueError as error:
        raise StageError(
            "toolchain-probe-failed",
            "the interpreter of the build environment does not start as it should",
            why=f"exit code {done.exit_code}; wanted a report of itself",
            fix="Repair the interpreter, or lock another one; what it said is in the lines above.",
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
        _c_compiler(seen["cc"], plan.compiler_c),
        _equal(
            "toolchain-compiles",
            "a small C and a small C++ program",
            seen["compiles"] or "compile and run",
            "compile and run",
        ),
    ]


def _numpy(plan: Plan) -> tuple[Finding, ...]:
    """Whether what the wheel is made against lets it work with the NumPy of its day."""
    if not plan.torch:
        return ()
    return (numpy_finding(plan.torch, dict(plan.packages).get("numpy", "")),)


def _c_compiler(seen: str, wanted: str) -> Finding:
    if not wanted:
        what = "C compiler: the lock was made before it was asked what it is"
        return Finding(reference="toolchain-compiler", outcome="not run", what=what, seen=seen)
    return _equal("toolchain-compiler", "C compiler", seen, wanted)


def _equal(reference: str, what: str, seen: str, wanted: str) -> Finding:
    outcome: Outcome = "passed" if seen == wanted else "failed"
    return Finding(reference=reference, outcome=outcome, what=what, seen=seen, wanted=wanted)
