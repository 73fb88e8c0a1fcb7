"""compile: the same command again; the shim compares once more and lets ninja work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from torchbuild.cache_used import SHIM_SAYS, STATSLOG, cache_evidence, cache_used, hits_told, warm_key
from torchbuild.compile_learned import keep_peaks, keep_times, kept_peaks
from torchbuild.compile_pool import pool_looked_at, pool_slots, pool_used
from torchbuild.compile_watch import MOST_EVIDENCE, CompileWatch
from torchbuild.context import Completed, Context
from torchbuild.errors import StageError, UsageError
from torchbuild.inspection.gpu_code_build import device_objects
from torchbuild.kept_tree import forget_refused, mark_configured
from torchbuild.model.command import BUILD_ROOT, expand
from torchbuild.model.finding import Finding, failures, reasons
from torchbuild.model.fingerprint import Fingerprint, fingerprint_of
from torchbuild.model.lock import Expectation, Lock
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.model.stopped import stopped
from torchbuild.report.edge_times import edge_times, times_name
from torchbuild.report.events import Found
from torchbuild.report.live_activity import running_edges
from torchbuild.report.live_estimate import LiveEstimate
from torchbuild.resolve.edge_guesses import edge_guesses
from torchbuild.resolve.frontend import front_end
from torchbuild.resolve.killed_compiler import killed_compiler
from torchbuild.resolve.launchers import launched
from torchbuild.resolve.learned_peaks import EXPECTED, SEEN, compilers_of, expected
from torchbuild.resolve.orders import (
    BUILD_DIR,
    GATE,
    LAID,
    LIVE,
    ORDER,
    STOP,
    USAGE,
    build_order,
    bypassed,
    gate_findings,
    refuse,
)
from torchbuild.resolve.targets import is_target, near_targets

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "restore", "run"]

NAME = "compile"
REVISION = 1
INSTALLED = f"{BUILD_DIR}/install_manifest.txt"
"""What CMake's install step laid, one path a line."""
_PACKED = ("build/lib.*", "build/bdist.*", "*.egg-info")
"""Where setuptools collects what it packs. It only ever adds; ``build/lib`` without a suffix is CMake's."""


class Plan(StagePlan):
    """What is compiled."""

    expect: tuple[Expectation, ...]
    """What the gate compares again, in case configure ran anew."""
    fingerprint: Fingerprint
    """What the build tree must be made with."""
    compiler_cache: str
    """The cache that compilers go through; empty for none."""
    warm: str
    """By what it is known that a cache should have all of this."""
    gpu_archs: tuple[str, ...]
    """Architectures that each device object is for; empty for a CPU build."""
    edge_times: str
    """Where it is kept what edges take with this compiler."""
    compilers: str
    """What peaks of memory are learned for."""


class Result(StageResult):
    """What was compiled, and at what price."""


def plan(lock: Lock) -> Plan:
    """The front end's command, to its end: a wheel in the dist directory."""
    return Plan(
        stage=NAME,
        key=stage_key(NAME, REVISION, lock_part(lock, "wheel")),
        needs=("configure",),
        makes=("{dist}",),
        commands=(front_end(lock),),
        expect=launched(lock.expect),
        fingerprint=fingerprint_of(lock),
        compiler_cache="" if lock.compiler_cache == "none" else lock.compiler_cache,
        warm=warm_key(lock),
        gpu_archs=lock.gpu_archs,
        edge_times="{cache}/" + times_name(lock.compiler, lock.gpu_archs),
        compilers=compilers_of(lock),
    )


def run(plan: Plan, context: Context) -> Result:
    """Compile, going on where an earlier run ended. With `context.target`, only as far as that.

    What stands in the build tree then is watched as what configure left, which wipes it where it is damaged.
    """
    context.records.watch("configure", ())
    pool = pool_looked_at(plan.commands[0], context)
    findings: tuple[Finding, ...] = ()
    try:
        built = _built(plan, context)
        is_kept = context.is_dev and not built.stopped
        forgotten = forget_refused(NAME, built.compared, context, is_kept=is_kept)
        if forgotten is not None:
            findings = (forgotten,)
            built = _built(plan, context)
            mark_configured(built.compared, context)
    finally:  # also of a build that was stopped
        pool += pool_used(context)
    if not built.stopped:
        refuse(built.compared, str(built.done.log))
        _require_end(built, context)
        if not context.is_dev:  # there ninja is asked each time
            context.records.watch("configure", (BUILD_DIR,))
    findings += _device_code(plan, context, is_whole=not built.stopped)
    findings += cache_used(plan.compiler_cache, plan.warm, built.usage, built.watch.estimate.made(), context)
    evidence = _evidence(built, context, plan.compiler_cache)
    what = f"stopped after {context.target}, as asked" if built.stopped else f"{built.watch.total} edges"
    return Result(
        summary=what + hits_told(evidence),
        findings=pool + findings,
        evidence=tuple(sorted(evidence.items())),
        stopped=built.stopped,
    )


def _device_code(plan: Plan, context: Context, *, is_whole: bool) -> tuple[Finding, ...]:
    """The code that really lies in what was compiled so far, by our own reader.

    Raises:
        StageError: ``device-code-not-as-asked``.
    """
    if not plan.gpu_archs:
        return ()
    findings = device_objects(context.workspace.inside(BUILD_DIR), plan.gpu_archs, is_whole=is_whole)
    for finding in findings:
        context.reporter.emit(Found(stage=NAME, finding=finding))
    wrong = failures(findings)
    if wrong:
        raise StageError(
            "device-code-not-as-asked",
            f"{wrong[0].what}; {len(wrong)} such findings",
            why=reasons(wrong),
            fix="Look at how the tree compiles these files; correct cuda.archs or patch the tree.",
            link=str(context.workspace.logs / f"{NAME}.log"),
        )
    return findings


def restore(_plan: Plan, context: Context) -> bool:
    """Nothing is ever missing; but a target that is asked for must be one, also where all is compiled.

    Raises:
        UsageError: ``target-unknown``.
    """
    if context.target is not None:
        rules = context.trees.read(context.workspace.inside(f"{BUILD_DIR}/build.ninja")) or ""
        if not is_target(context.target, rules):
            raise _unknown_target(context.target, context)
    return False


class _Built(NamedTuple):
    """One run of the front end."""

    done: Completed
    watch: CompileWatch
    usage: dict[str, Any]
    compared: tuple[Finding, ...]
    stopped: bool


def _built(plan: Plan, context: Context) -> _Built:
    inside, trees = context.workspace.inside, context.trees
    if context.is_dev and context.target is None:
        for place in _packed_before(context):
            trees.remove(place)
    keep_peaks(plan.compilers, context)  # of a run that was killed
    for path in ("{dist}", USAGE, GATE + ".tmp", STATSLOG, SEEN, STOP):
        trees.remove(inside(path))
    for path in ("{dist}", "{work}/home", "{work}/tmp"):
        trees.make(inside(path))
    statslog = expand(STATSLOG) if plan.compiler_cache else None
    order = build_order(plan.expect, plan.fingerprint, context.target, statslog, plan.compiler_cache)
    trees.write(inside(ORDER), order)
    trees.write(inside(EXPECTED), expected(plan.compilers, kept_peaks(context)))
    watch = CompileWatch(context, _estimate(plan, context))
    log = context.workspace.logs / f"{NAME}.log"
    command = plan.commands[0].with_environ(context.executor.environment())
    with context.stopping.gently(inside(STOP)), watch.activity():
        done = context.executor.run(command, log=log, on_line=watch.line)
    keep_peaks(plan.compilers, context)
    usage = _usage(trees.read(inside(USAGE)))
    learned = watch.estimate.learned(trees.read(inside(STATSLOG)) or "")
    keep_times(plan.edge_times, learned, context)
    if usage.get("stopped"):
        raise stopped(context.stopping.reason, watch.place())
    return _Built(
        done=done,
        watch=watch,
        usage=usage,
        compared=gate_findings(trees.read(inside(GATE))) or (),
        stopped=context.target is not None and usage.get("exit_code") == 0,
    )


def _estimate(plan: Plan, context: Context) -> LiveEstimate:
    read, inside = context.trees.read, context.workspace.inside
    jobs = context.executor.environment().get("MAX_JOBS", "")
    return LiveEstimate(
        lambda name: read(inside(f"{BUILD_DIR}/{name}")),
        edge_times(read(inside(plan.edge_times)), edge_guesses()),
        has_cache=bool(plan.compiler_cache),
        jobs=int(jobs) + pool_slots(context) if jobs.isdecimal() else 0,
        target=context.target,
        running=lambda: running_edges(read(inside(LIVE))),
        statslog=lambda: read(inside(STATSLOG)),
    )


def _packed_before(context: Context) -> Iterator[Path]:
    """What the front end laid for earlier wheels, and the source itself did not: it would be packed again.

    Ninja's own files stay; what CMake installed is installed again.
    """
    inside, trees = context.workspace.inside, context.trees
    tree = inside("{source}")
    laid = json.loads(trees.read(inside(LAID)) or "{}")
    folders = {above.as_posix() for name in laid for above in Path(name).parents}
    for pattern in _PACKED:
        for place in tree.glob(pattern):
            if place.is_dir() and place.relative_to(tree).as_posix() not in folders:
                yield place
    prefix = f"{BUILD_ROOT}/source/"
    for line in (trees.read(inside(INSTALLED)) or "").splitlines():
        name = line.removeprefix(prefix)
        if line.startswith(prefix) and ".." not in name.split("/") and name not in laid:
            place = inside(line)
            if place.is_symlink() or place.is_file():
                yield place


def _evidence(built: _Built, context: Context, cache: str) -> dict[str, str]:
    apart = ("exit_code", "stopped", SHIM_SAYS)
    return {
        "edges": str(built.watch.total),
        "wall_seconds": f"{built.done.seconds:.1f}",
        **{name: str(value) for name, value in built.usage.items() if name not in apart},
        **cache_evidence(cache, built.usage, context),
        **built.watch.estimate.evidence(),
    }


def _require_end(built: _Built, context: Context) -> None:
    """A wheel counts only where ninja ran behind the gate and ended well."""
    if context.target is not None and not built.watch.has_target:
        raise _unknown_target(context.target, context)
    if built.done.exit_code != 0:
        killed = killed_compiler(built.watch.lost, built.watch.failed, built.done.log)
        raise killed or _failed(built.done, built.watch, context)
    if not built.usage:
        raise bypassed(built.done.log)
    context.trees.only_wheel(context.workspace.inside("{dist}"))


def _unknown_target(name: str, context: Context) -> UsageError:
    """The caller's mistake, told with the names that were probably meant."""
    near = near_targets(name, context.trees.read(context.workspace.inside(f"{BUILD_DIR}/build.ninja")) or "")
    run = context.workspace.run
    return UsageError(
        "target-unknown",
        f"the tree has no target {name!r}",
        why=f"nearest: {', '.join(near)}" if near else "nothing in its build files has a name like that",
        fix=f"Name one that `torchbuild shell {run} ninja -C build -t targets all` lists.",
        link=str(context.workspace.logs / f"{NAME}.log"),
    )


def _failed(done: Completed, watch: CompileWatch, context: Context) -> StageError:
    """The causal block is the first failing edge's own output, not the last lines."""
    at = f" at {watch.failed[0].removeprefix('FAILED: ')}" if watch.failed else ""
    causes = [line.strip() for line in watch.failed if "error" in line.lower()]
    causes += [line.strip() for line in done.tail if line.startswith("ninja: error")]
    return StageError(
        "compile-failed",
        f"compile stopped with exit code {done.exit_code}{at}",
        why=causes[0] if causes else "see the lines below",
        fix=f"Correct the cause, then run the same command again: what was compiled is kept. "
        f"To look around: torchbuild shell {context.workspace.run}",
        evidence=tuple(watch.failed) or done.tail[-MOST_EVIDENCE:],
        link=str(done.log),
    )


def _usage(text: str | None) -> dict[str, Any]:
    """What the shim measured; empty where ninja was not reached, or did not end."""
    try:
        usage = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return usage if isinstance(usage, dict) else {}
