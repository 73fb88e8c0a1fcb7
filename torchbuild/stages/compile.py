"""compile: the same command again; the shim compares once more and lets ninja work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from torchbuild.compile_pool import pool_looked_at, pool_slots, pool_used
from torchbuild.context import Completed, Context
from torchbuild.errors import HostError, StageError, UsageError
from torchbuild.inspection.gpu_code_build import device_objects
from torchbuild.model.command import BUILD_ROOT, expand
from torchbuild.model.finding import Finding, failures, reasons
from torchbuild.model.lock import Expectation, Lock
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.edge_times import edge_times, times_name
from torchbuild.report.events import Found, Progress
from torchbuild.report.live_estimate import LiveEstimate
from torchbuild.resolve.frontend import front_end
from torchbuild.resolve.launchers import launched
from torchbuild.resolve.learned_peaks import EXPECTED, KEPT, SEEN, compilers_of, expected, merged
from torchbuild.resolve.orders import (
    BUILD_DIR,
    CACHE,
    GATE,
    LAID,
    ORDER,
    USAGE,
    build_order,
    bypassed,
    cache_forgotten,
    gate_findings,
    refuse,
)
from torchbuild.resolve.targets import is_target, near_targets

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "restore", "run"]

NAME = "compile"
REVISION = 1
STATSLOG = "{work}/tmp/ccache-stats.log"
INSTALLED = f"{BUILD_DIR}/install_manifest.txt"
"""What CMake's install step laid, one path a line."""
_PACKED = ("build/lib.*", "build/bdist.*", "*.egg-info")
"""Where setuptools collects what it packs. It only ever adds; ``build/lib`` without a suffix is CMake's."""
_NO_TARGET = "ninja: error: unknown target "
_EDGE = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
_CACHE_WORDS = (
    "direct_cache_hit",
    "preprocessed_cache_hit",
    "cache_miss",
    "error",
    "unsupported",
    "called_for_link",
)
_MOST_EVIDENCE = 40
_LONGEST_WHAT = 80


class Plan(StagePlan):
    """What is compiled."""

    expect: tuple[Expectation, ...]
    """What the gate compares again, in case configure ran anew."""
    compiler_cache: bool
    """Whether compilers go through a cache."""
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
        compiler_cache=lock.compiler_cache != "none",
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
    built = _built(plan, context)
    pool += pool_used(context)
    findings: tuple[Finding, ...] = ()
    if context.is_dev and not built.stopped and failures(built.compared):
        findings = (cache_forgotten(built.compared),)
        context.reporter.emit(Found(stage=NAME, finding=findings[0]))
        for path in (CACHE, GATE):
            context.trees.remove(context.workspace.inside(path))
        built = _built(plan, context)
    if not built.stopped:
        refuse(built.compared, str(built.done.log))
        _require_end(built, context)
        if not context.is_dev:  # there ninja is asked each time
            context.records.watch("configure", (BUILD_DIR,))
    findings += _device_code(plan, context, is_whole=not built.stopped)
    evidence = _evidence(built, context)
    what = f"stopped after {context.target}, as asked" if built.stopped else f"{built.watch.total} edges"
    return Result(
        summary=what + _hits(evidence),
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
    watch: _Watch
    usage: dict[str, Any]
    compared: tuple[Finding, ...]
    stopped: bool


def _built(plan: Plan, context: Context) -> _Built:
    inside, trees = context.workspace.inside, context.trees
    if context.is_dev and context.target is None:
        for place in _packed_before(context):
            trees.remove(place)
    _keep_peaks(plan, context)  # of a run that was killed
    for path in ("{dist}", USAGE, GATE + ".tmp", STATSLOG, SEEN):
        trees.remove(inside(path))
    for path in ("{dist}", "{work}/home", "{work}/tmp"):
        trees.make(inside(path))
    statslog = expand(STATSLOG) if plan.compiler_cache else None
    trees.write(inside(ORDER), build_order(plan.expect, context.target, statslog))
    trees.write(inside(EXPECTED), expected(plan.compilers, _kept_peaks(context)))
    watch = _Watch(context, _estimate(plan, context))
    log = context.workspace.logs / f"{NAME}.log"
    command = plan.commands[0].with_environ(context.executor.environment())
    done = context.executor.run(command, log=log, on_line=watch.line)
    _keep_peaks(plan, context)
    usage = _usage(trees.read(inside(USAGE)))
    _learn(plan, watch, context)
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
        edge_times(read(inside(plan.edge_times))),
        has_cache=plan.compiler_cache,
        jobs=int(jobs) + pool_slots(context) if jobs.isdecimal() else 0,
    )


def _learn(plan: Plan, watch: _Watch, context: Context) -> None:
    """Keep what edges took, those of a build that failed as well."""
    trees, inside = context.trees, context.workspace.inside
    text = watch.estimate.learned(trees.read(inside(STATSLOG)) or "")
    if text is not None:
        with suppress(HostError):  # no build fails for want of an estimate of the next one
            trees.write(inside(plan.edge_times), text)


def _keep_peaks(plan: Plan, context: Context) -> None:
    """Keep what compilers took of memory, those of a build that failed as well."""
    seen = context.trees.read(context.workspace.inside(SEEN))
    text = merged(plan.compilers, _kept_peaks(context), seen)
    if text is not None:
        with suppress(HostError):  # a store that may only be read still serves
            context.trees.write(context.store.root() / KEPT, text)


def _kept_peaks(context: Context) -> str | None:
    with suppress(HostError):
        return context.trees.read(context.store.root() / KEPT)
    return None


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


def _evidence(built: _Built, context: Context) -> dict[str, str]:
    return {
        "edges": str(built.watch.total),
        "wall_seconds": f"{built.done.seconds:.1f}",
        **{name: str(value) for name, value in built.usage.items() if name != "exit_code"},
        **_cache_statistics(context.trees.read(context.workspace.inside(STATSLOG)) or ""),
        **{f"estimate_error_at_{at}": f"{error:+.0%}" for at, error in built.watch.estimate.errors().items()},
    }


class _Watch:
    """Follows ninja's lines: how far it is, and which edge failed first."""

    def __init__(self, context: Context, estimate: LiveEstimate) -> None:
        self._context = context
        self.estimate = estimate
        self._before, self._number, self._last = 0, 0, 0
        self.failed: list[str] = []
        self.has_target = True
        self._open = False

    @property
    def total(self) -> int:
        """Edges of all calls of ninja together."""
        return self._before + self._last

    def _count(self, number: int, total: int) -> None:
        """A front end may call ninja several times; a number that goes back is a new call's."""
        if number < self._number:
            self._before += self._last
        self._number, self._last = number, total

    def line(self, text: str) -> None:
        """Take one line of the build's output."""
        edge = _EDGE.match(text)
        if edge is not None:
            self._open = False
            self._count(int(edge[1]), int(edge[2]))
            self._context.reporter.emit(
                Progress(
                    stage=NAME,
                    done=self._number,
                    total=self._last,
                    unit="edges",
                    what=_product(edge[3]),
                    left_s=self.estimate.edge(self._number, self._last),
                )
            )
        elif text.startswith("FAILED: "):
            self._open = not self.failed
        elif text.startswith(_NO_TARGET):
            self.has_target = False
        if self._open and len(self.failed) < _MOST_EVIDENCE:
            self.failed.append(text)


def _product(edge: str) -> str:
    """What an edge makes, where its description ends with that; else its beginning: it is a whole command."""
    is_described = edge.startswith(("Building ", "Linking ", "Generating "))
    return edge.rpartition(" ")[2] if is_described else edge[:_LONGEST_WHAT]


def _require_end(built: _Built, context: Context) -> None:
    """A wheel counts only where ninja ran behind the gate and ended well."""
    if context.target is not None and not built.watch.has_target:
        raise _unknown_target(context.target, context)
    if built.done.exit_code != 0:
        raise _failed(built.done, built.watch, context)
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


def _failed(done: Completed, watch: _Watch, context: Context) -> StageError:
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
        evidence=tuple(watch.failed) or done.tail[-_MOST_EVIDENCE:],
        link=str(done.log),
    )


def _usage(text: str | None) -> dict[str, Any]:
    """What the shim measured; empty where ninja was not reached, or did not end."""
    try:
        usage = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return usage if isinstance(usage, dict) else {}


def _cache_statistics(text: str) -> dict[str, str]:
    """Counts of ccache's own words over the compile edges alone; configure's probes are not in them."""
    words = text.splitlines()
    return {f"cache_{word}": str(words.count(word)) for word in _CACHE_WORDS if word in words}


def _hits(evidence: dict[str, str]) -> str:
    hits = sum(int(evidence.get(f"cache_{kind}_cache_hit", 0)) for kind in ("direct", "preprocessed"))
    calls = hits + int(evidence.get("cache_cache_miss", 0))
    return f", {hits} of {calls} compiler calls from the cache" if calls else ""
