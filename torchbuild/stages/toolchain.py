"""toolchain: the build environment from the locked wheels, our ninja in it, and proof of what it is."""

from __future__ import annotations

import json
import posixpath
from importlib.resources import files
from pathlib import Path
from typing import Any

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion

from torchbuild.context import Completed, Context
from torchbuild.errors import LockError, StageError
from torchbuild.knowledge.compiler_caches import Cached, bad_pairs, cache_version
from torchbuild.knowledge.own_sources import sources_digest
from torchbuild.model.artifact import Artifact
from torchbuild.model.command import BUILD_ROOT, Command
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.lock import Lock, LockedPython
from torchbuild.model.part import PARTS
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.parts_made import clear_parts, prove_part, settled
from torchbuild.resolve.compiler_caches import cached_by_lock
from torchbuild.resolve.frontend import VENV_PYTHON, install_command, plain, requirement_lines
from torchbuild.resolve.orders import TOOLS, printed_document
from torchbuild.resolve.part_kinds import wanted_of
from torchbuild.resolve.planned_parts import PlannedPart, planned_parts
from torchbuild.toolchains.proof import Wanted
from torchbuild.toolchains.python_proof import numpy_finding

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "toolchain"
REVISION = 1
_MOST_WHY = 300
REQUIREMENTS = "{work}/build-requirements.txt"
_TABLES = tuple(
    f"knowledge/data/{name}.toml"
    for name in ("cuda_pairs", "host_compilers", "libraries", "library_floors", "openmp", "torch_python")
)
"""What proofs weigh by."""
_OF_PARTS = (
    *(f"bin/{name}" for name in ("nvcc", "ptxas", "fatbinary", "cudafe++", "nvlink")),
    *("nvvm/bin/cicc", "lib/nvidia-cuda-toolkit/bin/cicc"),
    *("include/cuda.h", "include/nccl.h", "include/cudnn_version.h"),
)
_LAUNCHER = "shim/launch.c"
"""What is compiled to stand in front of compilers."""
_CACHES = "knowledge/data/compiler_caches.toml"
"""What a compiler cache is weighed by."""
_NUMPY = "knowledge/data/numpy.toml"
"""What the NumPy of the build environment is weighed by."""
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
    cache: str
    """The compiler cache, absolute; empty for none."""
    cached: Cached
    """What is compiled through it."""
    has_image: bool
    """Whether an image pins what the lock does not: the compilers' and the interpreter's own files."""


class Result(StageResult):
    """What the build environment is."""


def plan(lock: Lock) -> Plan:
    """Make the venv, install by hash, probe."""
    probe = ("{shim}/torchbuild_shim/probe.py", lock.cc, lock.cxx, "{venv}/bin/cmake", "{shim}/ninja-real")
    fields = (
        "python", "cc", "cxx", "compiler", "compiler_c", "compiler_cache", "image", "build_requires", "epoch",
    )  # fmt: skip
    cache = "" if lock.compiler_cache == "none" else lock.compiler_cache
    inputs = lock_part(lock, *fields) | {
        "shim": sources_digest("shim", _LAUNCHER),
        "numpy": sources_digest(_NUMPY),
    }
    parts = planned_parts(lock, VENV_PYTHON, plain(lock).environ)
    if cache:
        inputs |= {"caches": sources_digest(_CACHES)}
    if lock.parts:
        inputs |= lock_part(lock, "parts", "gpu_archs") | _judging(lock, parts)
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, inputs),
        needs=("fetch",),
        makes=("{venv}", "{shim}/torchbuild_shim", "{shim}/ninja-real", TOOLS, *((PARTS,) if parts else ())),
        commands=(
            plain(lock, lock.python.executable, "-I", "-m", "venv", "--without-pip", "--clear", "{venv}"),
            install_command(lock, VENV_PYTHON, REQUIREMENTS),
            plain(lock, VENV_PYTHON, "-I", *probe, "{work}/tmp/probe", "{shim}", *([cache] if cache else [])),
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
        cache=cache,
        cached=cached_by_lock(lock),
        has_image=lock.image is not None,
    )


def _judging(lock: Lock, parts: tuple[PlannedPart, ...]) -> dict[str, Any]:
    """What decides the verdict on parts beside what they are: what scripts are told, and who judges."""
    told = {path: text for item in parts for step in item.steps for path, text in step.requests()}
    checks = sources_digest("toolchains", "inspection", "resolve/part_kinds.py", *_TABLES)
    return {"told": told, "wanted": wanted_of(lock).model_dump(mode="json"), "checks": checks}


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
    """Build the environment, then read back what it is. What is wrong ends it before the next is begun."""
    _lay_guests(context)
    findings = [*_proven(plan, context, is_before=True)]
    _make(plan, context)
    _lay_shim(context)
    seen = _probe(plan, context)
    findings += settled(tuple(_judge(plan, seen)), "toolchain-probe", context)
    findings += settled(_cache(plan, seen.get("cache", ""), context), "toolchain-probe", context)
    findings += _proven(plan, context, is_before=False)
    findings += settled(_numpy(plan), "toolchain-probe", context)
    files = (*seen["files"], *_of_the_machine(plan))
    context.trees.write(context.workspace.inside(TOOLS), json.dumps(files, indent=1) + "\n")
    evidence = tuple((name, str(seen[name])) for name in ("cc", "cmake", "cxx", "ninja", "version"))
    parts = "".join(
        f", {item.part.name} {item.part.version}".rstrip()
        for item in plan.parts
        if item.part.name != "python"
    )
    return Result(
        summary=f"Python {seen['version']}, {seen['cxx']}, {seen['cmake']}{parts}",
        findings=tuple(findings),
        evidence=evidence,
        rests_on=() if plan.has_image else tuple(path for path in files if Path(path).is_file()),
    )


def _of_the_machine(plan: Plan) -> tuple[str, ...]:
    """Files of parts that are only looked at here, where they have them: others in the same place are another
    toolchain.
    """
    here = [item.part.prefix for item in plan.parts if not item.part.is_ours and item.part.name != "python"]
    return tuple(dict.fromkeys(f"{prefix.rstrip('/')}/{name}" for prefix in here for name in _OF_PARTS))


def _proven(plan: Plan, context: Context, *, is_before: bool) -> tuple[Finding, ...]:
    """The findings of every part; an interpreter of ours is laid and proven before all else is made."""
    ours = [item for item in plan.parts if item.part.name == "python" and item.part.is_ours]
    parts = ours if is_before else [item for item in plan.parts if item not in ours]
    return tuple(finding for item in parts for finding in prove_part(item, plan.wanted, context))


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
    trees.remove(inside("{shim}"))
    clear_parts(context)
    for folder in ("home", "tmp", "dist"):
        trees.make(inside("{work}/" + folder))
    for item in files("torchbuild.shim").iterdir():
        if item.name.endswith((".py", ".c")):
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
        *_launcher(seen.get("launcher", "")),
    ]


def _launcher(why: str) -> tuple[Finding, ...]:
    """That compilers start without asking for memory, where what would ask could not be compiled."""
    if not why:
        return ()
    what = "compilers are started without a look at memory: their launcher cannot be compiled"
    return (Finding(reference="toolchain-launcher", outcome="warned", what=what, seen=why),)


def _cache(plan: Plan, said: str, context: Context) -> tuple[Finding, ...]:
    """That it runs, and what is known against its release with what is compiled here."""
    if not plan.cache:
        return ()
    name = posixpath.basename(plan.cache)
    what = f"compiler cache {plan.cache}"
    if not said:
        wanted = "a program that says its version"
        return (
            Finding(reference="toolchain-cache", outcome="failed", what=what, seen="none", wanted=wanted),
        )
    is_despite = "compiler-cache-pair" in context.despite
    return (
        Finding(reference="toolchain-cache", outcome="passed", what=what, seen=said),
        *(
            Finding(
                reference="compiler-cache-pair",
                outcome="failed" if row.refuses and not is_despite else "warned",
                what=f"{what}: {row.what}",
                seen=said,
                wanted=f"{row.fix} ({row.source})",
            )
            for row in bad_pairs(name, cache_version(said), plan.cached)
        ),
    )


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
