"""From a recipe to a running pipeline: the composition root of `build`, `plan` and `shell`."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from torchbuild import __version__
from torchbuild.cli.locking import World, make_lock, world
from torchbuild.cli.places import Places
from torchbuild.cli.recipe_files import lock_path, read_lock, read_recipe, write_lock
from torchbuild.cli.survey import executor_for
from torchbuild.context import Context, Executor
from torchbuild.edges.atomic import write_bytes
from torchbuild.edges.git import GitEdge
from torchbuild.edges.records import StageRecords
from torchbuild.edges.trees import StoreTrees
from torchbuild.edges.workspace import DirectoryWorkspace, open_workspace
from torchbuild.errors import LockError, TorchbuildError
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.pipeline import STAGES, Stage, StageOutcome, build
from torchbuild.report.broadcast import Broadcast
from torchbuild.report.console import console_for
from torchbuild.report.events import RunFinished, RunStarted
from torchbuild.report.jsonl import JsonLines, open_events
from torchbuild.report.redaction import Redactor
from torchbuild.report.secrets import secrets_of
from torchbuild.report.summary import ErrorReport, RunReport, StageReport, WheelReport, write_report
from torchbuild.resolve.lockfile import dump_lock

__all__ = ["Asked", "Ended", "locked", "opened", "redactor", "run_build", "run_name"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the command line asked for."""

    recipe: Path
    """The recipe file."""
    lock: Path | None = None
    """The lock file; default beside the recipe."""
    overrides: tuple[str, ...] = ()
    """``dotted.key=value``."""
    allowed: tuple[Path, ...] = ()
    """Further folders that the recipe's paths may lie in."""
    must_be_locked: bool = False
    """Refuse a missing or stale lock instead of making one."""
    target: str | None = None
    """Stop after this CMake target or object."""
    out: Path = field(default_factory=lambda: Path("dist"))
    """Where the wheel goes."""
    forced: bool = False
    """Run the first stage of the slice even if it is done."""
    paranoid: bool = False
    """Hash what was made before believing that it is intact."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A build that ended as asked."""

    run: str
    outcomes: tuple[StageOutcome, ...]
    report: Path
    wheel: str
    sha256: str


def redactor() -> Redactor:
    """Takes out what this user's environment and netrc hold."""
    try:
        netrc = (Path.home() / ".netrc").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, RuntimeError):
        netrc = ""
    return Redactor(secrets_of(os.environ, netrc))


def locked(asked: Asked, recipe: Recipe, there: World, tell: Callable[[str], None]) -> Lock:
    """The lock beside the recipe, or a new one that is written there."""
    path = asked.lock or lock_path(asked.recipe)
    try:
        return read_lock(path, recipe)
    except LockError as error:
        if asked.must_be_locked or error.reference == "lock-too-new":
            raise
        tell(f"{error.what}; locking")
    lock = make_lock(recipe, there, tell)
    write_lock(path, lock)
    return lock


def run_name(lock: Lock) -> str:
    """The recipe's name and the first digits of the lock's digest: the same lock, the same workspace."""
    return f"{lock.name}-{hashlib.sha256(dump_lock(lock).encode()).hexdigest()[:10]}"


@contextmanager
def opened(
    asked: Asked, recipe: Recipe, lock: Lock, there: World
) -> Iterator[tuple[DirectoryWorkspace, Executor]]:
    """The run's workspace, held, and its executor."""
    places = there.places
    with open_workspace(
        places.builds, run_name(lock), store=places.store, cache=places.compiler_cache, recipe=recipe.name
    ) as workspace:
        executor = executor_for(recipe, lock.image, places, workspace.root, workspace.run)
        _remove_stale(executor)
        write_bytes(workspace.path / "lock.toml", dump_lock(lock).encode())
        yield workspace, executor


def _remove_stale(executor: Executor) -> None:
    """Containers that a killed run left behind would still write into the workspace."""
    from torchbuild.edges.container import ContainerExecutor  # noqa: PLC0415  only where an image is used

    if isinstance(executor, ContainerExecutor):
        executor.remove_stale()


def _git(recipe: Recipe, lock: Lock, there: World) -> GitEdge:
    """The lock's address has no credentials; the recipe's own may have."""
    prefixes = dict(there.mirrors.prefixes)
    if recipe.source.git is not None and lock.source.url != recipe.source.git:
        prefixes.setdefault(lock.source.url, recipe.source.git)
    return GitEdge(there.places.cache, prefixes=prefixes)


def run_build(asked: Asked, places: Places, stages: tuple[Stage, ...]) -> Ended:
    """Build; the report is written however it ends."""
    clean = redactor()

    def tell(text: str) -> None:
        sys.stderr.write(clean.redact(text) + "\n")

    recipe = read_recipe(asked.recipe, overrides=asked.overrides, allowed=asked.allowed)
    there = world(recipe, places, asked.recipe.absolute().parent)
    lock = locked(asked, recipe, there, tell)
    with opened(asked, recipe, lock, there) as (workspace, executor):
        renderers = [
            console_for(sys.stderr, os.environ, time.monotonic),
            JsonLines(open_events(workspace.path / "events.jsonl")),
        ]
        with Broadcast(clean, renderers) as reporter:
            context = Context(
                workspace=workspace,
                executor=executor,
                store=there.store,
                network=there.network,
                git=_git(recipe, lock, there),
                trees=StoreTrees(there.store),
                records=StageRecords(workspace, paranoid=asked.paranoid),
                reporter=reporter,
                recipe_dir=there.recipe_dir,
                publish_dir=asked.out.absolute(),
                target=asked.target,
            )
            return _Run(lock=lock, context=context, workspace=workspace, clean=clean).go(
                stages, forced=asked.forced
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    """One pass of the pipeline, reported from its first event to its last."""

    lock: Lock
    context: Context
    workspace: DirectoryWorkspace
    clean: Redactor

    def go(self, stages: tuple[Stage, ...], *, forced: bool) -> Ended:
        """Run the stages; write the report; raise what stopped them."""
        started, begin = datetime.now(UTC), time.monotonic()
        names = tuple(item.name for item in stages)
        self.context.reporter.emit(
            RunStarted(
                run=self.workspace.run,
                recipe=self.lock.name,
                stages=names,
                workspace=str(self.workspace.path),
            )
        )
        outcomes: tuple[StageOutcome, ...] = ()
        failure: TorchbuildError | None = None
        try:
            outcomes = build(self.lock, self.context, stages, forced=forced, clock=time.monotonic)
        except TorchbuildError as error:
            failure = error
            outcomes = tuple(item for item in error.outcomes if isinstance(item, StageOutcome))
        seconds = time.monotonic() - begin
        report = self._report(outcomes, failure, started, seconds)
        path = self.workspace.path / "report.json"
        write_report(path, report, write=write_bytes, redactor=self.clean)
        wheel = report.wheel.path if report.wheel else ""
        self.context.reporter.emit(
            RunFinished(
                run=self.workspace.run,
                outcome=report.outcome,
                seconds=round(seconds, 3),
                wheel=wheel,
                report=str(path),
            )
        )
        if failure is not None:
            raise failure
        digest = report.wheel.sha256 if report.wheel else ""
        return Ended(run=self.workspace.run, outcomes=outcomes, report=path, wheel=wheel, sha256=digest)

    def _report(
        self,
        outcomes: tuple[StageOutcome, ...],
        failure: TorchbuildError | None,
        started: datetime,
        seconds: float,
    ) -> RunReport:
        ran = {item.stage for item in outcomes}
        stopped = any(item.outcome == "stopped" for item in outcomes)
        return RunReport.model_validate(
            {
                "schema": 1,
                "run": self.workspace.run,
                "recipe": self.lock.name,
                "outcome": "failed" if failure else "stopped" if stopped else "done",
                "started": started.isoformat(timespec="seconds"),
                "seconds": round(seconds, 3),
                "tool": __version__,
                "stages": tuple(_stage_report(item) for item in outcomes),
                "not_run": tuple(item.name for item in STAGES if item.name not in ran),
                "wheel": _wheel(outcomes),
                "error": ErrorReport.of(failure) if failure else None,
            }
        )


def _stage_report(item: StageOutcome) -> StageReport:
    result = item.result
    return StageReport.model_validate(
        {
            "stage": item.stage,
            "outcome": item.outcome,
            "key": item.key,
            "seconds": round(item.seconds, 3),
            "log": f"logs/{item.stage}.log",
            "findings": result.findings if result else (),
            "evidence": {name: value for name, value in result.evidence} if result else {},
        }
    )


def _wheel(outcomes: tuple[StageOutcome, ...]) -> WheelReport | None:
    """Where publish laid it."""
    for item in outcomes:
        if item.stage == "publish" and item.result is not None:
            evidence = dict(item.result.evidence)
            path = Path(evidence["path"])
            size = path.stat().st_size if path.exists() else 0
            return WheelReport(path=str(path), sha256=evidence["sha256"], size=size)
    return None
