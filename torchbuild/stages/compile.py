"""compile: the same command again; the shim compares once more and lets ninja work."""

from __future__ import annotations

import json
import re
from typing import Any

from torchbuild.context import Completed, Context
from torchbuild.errors import StageError, UsageError
from torchbuild.model.command import expand
from torchbuild.model.lock import Expectation, Lock
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Progress
from torchbuild.resolve.frontend import front_end
from torchbuild.resolve.orders import (
    BUILD_DIR,
    GATE,
    ORDER,
    USAGE,
    build_order,
    bypassed,
    gate_findings,
    refuse,
)
from torchbuild.resolve.targets import near_targets

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "compile"
REVISION = 1
STATSLOG = "{work}/tmp/ccache-stats.log"
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
        expect=lock.expect,
        compiler_cache=lock.compiler_cache != "none",
    )


def run(plan: Plan, context: Context) -> Result:
    """Compile, going on where an earlier run ended. With `context.target`, only as far as that."""
    inside, trees = context.workspace.inside, context.trees
    for path in ("{dist}", USAGE, GATE + ".tmp", STATSLOG):
        trees.remove(inside(path))
    for path in ("{dist}", "{work}/home", "{work}/tmp"):
        trees.make(inside(path))
    statslog = expand(STATSLOG) if plan.compiler_cache else None
    trees.write(inside(ORDER), build_order(plan.expect, context.target, statslog))
    watch = _Watch(context)
    log = context.workspace.logs / f"{NAME}.log"
    command = plan.commands[0].with_environ(context.executor.environment())
    done = context.executor.run(command, log=log, on_line=watch.line)
    usage = _usage(trees.read(inside(USAGE)))
    stopped = context.target is not None and usage.get("exit_code") == 0
    if not stopped:
        refuse(gate_findings(trees.read(inside(GATE))) or (), str(log))
        _require_end(done, usage, watch, context)
    evidence = {
        "edges": str(watch.total),
        "wall_seconds": f"{done.seconds:.1f}",
        **{name: str(value) for name, value in usage.items() if name != "exit_code"},
        **_cache_statistics(trees.read(inside(STATSLOG)) or ""),
    }
    what = f"stopped after {context.target}, as asked" if stopped else f"{watch.total} edges"
    return Result(summary=what + _hits(evidence), evidence=tuple(sorted(evidence.items())), stopped=stopped)


class _Watch:
    """Follows ninja's lines: how far it is, and which edge failed first."""

    def __init__(self, context: Context) -> None:
        self._context = context
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
                    stage=NAME, done=self._number, total=self._last, unit="edges", what=_product(edge[3])
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


def _require_end(done: Completed, usage: dict[str, Any], watch: _Watch, context: Context) -> None:
    """A wheel counts only where ninja ran behind the gate and ended well."""
    if context.target is not None and not watch.has_target:
        raise _unknown_target(context.target, context)
    if done.exit_code != 0:
        raise _failed(done, watch, context)
    if not usage:
        raise bypassed(done.log)
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
