"""compile: the same command again; the shim compares once more and lets ninja work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from torchbuild.context import Completed, Context
from torchbuild.errors import StageError
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.lock import Expectation, Lock
from torchbuild.model.stage import StagePlan, StageResult, lock_part, stage_key
from torchbuild.report.events import Progress
from torchbuild.resolve.frontend import front_end

__all__ = ["NAME", "REVISION", "Plan", "Result", "plan", "run"]

NAME = "compile"
REVISION = 1
STATSLOG = "{work}/tmp/ccache-stats.log"
_EDGE = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
_CACHE_WORDS = (
    "direct_cache_hit",
    "preprocessed_cache_hit",
    "cache_miss",
    "error",
    "unsupported",
    "called_for_link",
)


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
    inside = context.workspace.inside
    for stale in inside("{dist}").glob("*"):
        stale.unlink()
    for name in ("compile.json", "gate.json.tmp"):
        inside("{shim}/" + name).unlink(missing_ok=True)
    statslog = inside(STATSLOG)
    statslog.unlink(missing_ok=True)
    inside("{shim}/order.json").write_text(json.dumps(_order(plan, context)), encoding="utf-8")
    command = plan.commands[0].with_environ(context.executor.environment())
    watch = _Watch(context)
    done = context.executor.run(command, log=context.workspace.logs / f"{NAME}.log", on_line=watch.line)
    usage = _usage(inside("{shim}/compile.json"))
    stopped = context.target is not None and usage.get("exit_code") == 0
    if not stopped and (done.exit_code != 0 or not list(inside("{dist}").glob("*.whl"))):
        raise _failed(done, watch, context)
    evidence = {
        "edges": str(watch.total),
        "wall_seconds": f"{done.seconds:.1f}",
        **{name: str(value) for name, value in usage.items() if name != "exit_code"},
        **(_cache_statistics(statslog) if plan.compiler_cache else {}),
    }
    what = f"stopped after {context.target}, as asked" if stopped else f"{watch.total} edges"
    return Result(summary=what + _hits(evidence), evidence=tuple(sorted(evidence.items())), stopped=stopped)


def _order(plan: Plan, context: Context) -> dict[str, Any]:
    return {
        "mode": "build",
        "build_dir": f"{BUILD_ROOT}/source/build",
        "target": context.target,
        "statslog": STATSLOG.replace("{work}", BUILD_ROOT) if plan.compiler_cache else None,
        "expect": [item.model_dump(mode="json") for item in plan.expect],
    }


class _Watch:
    """Follows ninja's lines: how far it is, and which edge failed first."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.total = 0
        self.failed: list[str] = []
        self._open = False

    def line(self, text: str) -> None:
        """Take one line of the build's output."""
        edge = _EDGE.match(text)
        if edge is not None:
            self._open = False
            done, self.total = int(edge[1]), int(edge[2])
            what = edge[3].rpartition(" ")[2]
            self._context.reporter.emit(
                Progress(stage=NAME, done=done, total=self.total, unit="edges", what=what)
            )
        elif text.startswith("FAILED: "):
            self._open = not self.failed
        if self._open and len(self.failed) < 40:  # noqa: PLR2004  enough of the first failing edge to see its cause
            self.failed.append(text)


def _failed(done: Completed, watch: _Watch, context: Context) -> StageError:
    """The causal block is the first failing edge's own output, not the last lines."""
    return StageError(
        "compile-failed",
        f"compile stopped with exit code {done.exit_code}"
        + (f" at {watch.failed[0].removeprefix('FAILED: ')}" if watch.failed else ""),
        why=next((line.strip() for line in watch.failed if "error" in line.lower()), "see the lines below"),
        fix=f"Correct the cause, then run the same command again: what was compiled is kept. "
        f"To look around: torchbuild shell {context.workspace.run}",
        evidence=tuple(watch.failed) or done.tail[-40:],
        link=str(done.log),
    )


def _usage(path: Path) -> dict[str, Any]:
    try:
        usage: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return usage


def _cache_statistics(statslog: Path) -> dict[str, str]:
    """Counts of ccache's own words over the compile edges alone; configure's probes are not in them."""
    try:
        words = statslog.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {f"cache_{word}": str(words.count(word)) for word in _CACHE_WORDS if word in words}


def _hits(evidence: dict[str, str]) -> str:
    hits = sum(int(evidence.get(f"cache_{kind}_cache_hit", 0)) for kind in ("direct", "preprocessed"))
    calls = hits + int(evidence.get("cache_cache_miss", 0))
    return f", {hits} of {calls} compiler calls from the cache" if calls else ""
