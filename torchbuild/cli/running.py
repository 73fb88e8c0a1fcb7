"""From a recipe to a running pipeline: the composition root of `build`."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from torchbuild.cli.lock_changes import changes
from torchbuild.cli.locking import World, make_lock, world
from torchbuild.cli.places import Places
from torchbuild.cli.recipe_files import (
    lock_path,
    read_lock,
    read_recipe,
    recipe_redactor,
    stale_lock,
    write_lock,
)
from torchbuild.cli.run_report import FindingKeeper, RunEnd, report_of, write_reports
from torchbuild.cli.survey import executor_for
from torchbuild.context import Context, Executor
from torchbuild.edges.atomic import write_text
from torchbuild.edges.records import StageRecords
from torchbuild.edges.trees import StoreTrees
from torchbuild.edges.workspace import DirectoryWorkspace, open_workspace
from torchbuild.errors import LockError, TorchbuildError
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.pipeline import Stage, StageOutcome, build
from torchbuild.report.broadcast import Broadcast
from torchbuild.report.console import console_for
from torchbuild.report.events import RunFinished, RunStarted
from torchbuild.report.jsonl import JsonLines, open_events
from torchbuild.report.redaction import Redactor
from torchbuild.resolve.lockfile import dump_lock

__all__ = ["Asked", "Ended", "run_build", "run_name"]


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
    """Its name, which ``torchbuild shell`` takes."""
    outcomes: tuple[StageOutcome, ...]
    """Its stages."""
    report: Path
    """``report.json``."""
    wheel: str
    """The published wheel; empty where none was."""
    sha256: str
    """Its digest."""


def run_build(asked: Asked, places: Places, stages: tuple[Stage, ...]) -> Ended:
    """Build; the report is written however it ends."""
    recipe = read_recipe(asked.recipe, overrides=asked.overrides, allowed=asked.allowed)
    clean = recipe_redactor(recipe)

    def tell(text: str) -> None:
        sys.stderr.write(clean.redact(text) + "\n")

    there = world(recipe, places, asked.recipe.absolute().parent, asked.allowed)
    lock = _locked(asked, recipe, there, tell)
    with _terminated_as_interrupted(), _opened(recipe, lock, there) as (workspace, executor):
        keeper = FindingKeeper()
        renderers = [
            console_for(sys.stderr, os.environ, time.monotonic),
            JsonLines(open_events(workspace.path / "events.jsonl")),
            keeper,
        ]
        with Broadcast(clean, renderers) as reporter:
            context = Context(
                workspace=workspace,
                executor=executor,
                store=there.store,
                network=there.network,
                git=there.git,
                trees=StoreTrees(there.store),
                records=StageRecords(workspace, paranoid=asked.paranoid),
                reporter=reporter,
                recipe_dir=there.recipe_dir,
                publish_dir=asked.out.absolute(),
                target=asked.target,
            )
            run = _Run(lock=lock, context=context, clean=clean, keeper=keeper)
            return run.go(stages, forced=asked.forced)


def _locked(asked: Asked, recipe: Recipe, there: World, tell: Callable[[str], None]) -> Lock:
    """The lock beside the recipe, or a new one that is written there."""
    path = asked.lock or lock_path(asked.recipe)
    try:
        return read_lock(path, recipe, asked.recipe.absolute().parent)
    except LockError as error:
        if asked.must_be_locked or error.reference == "lock-too-new":
            raise
        tell(f"{error.what}: making it" + (" anew" if path.exists() else ""))
    before = stale_lock(path)
    lock = make_lock(recipe, there, tell)
    write_lock(path, lock)
    for line in changes(before, lock) if before else ():
        tell(f"  {line}")
    tell(f"locked: {path}")
    return lock


def run_name(lock: Lock) -> str:
    """The recipe's name and the first digits of the lock's digest: the same lock, the same workspace."""
    return f"{lock.name}-{hashlib.sha256(dump_lock(lock).encode()).hexdigest()[:10]}"


@contextmanager
def _opened(recipe: Recipe, lock: Lock, there: World) -> Iterator[tuple[DirectoryWorkspace, Executor]]:
    """The run's workspace, held, and its executor."""
    places = there.places
    with open_workspace(
        places.builds, run_name(lock), store=places.store, cache=places.compiler_cache, recipe=recipe.name
    ) as workspace:
        executor = executor_for(recipe.machine, lock.image, places, workspace.root, workspace.run)
        _remove_stale(executor)
        write_text(workspace.path / "lock.toml", dump_lock(lock))
        yield workspace, executor


def _remove_stale(executor: Executor) -> None:
    """Containers that a killed run left behind would still write into the workspace."""
    from torchbuild.edges.container import ContainerExecutor  # noqa: PLC0415  only where an image is used

    if isinstance(executor, ContainerExecutor):
        executor.remove_stale()


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, as a CI system or a scheduler sends it, ends a run the way Ctrl-C does: with its report."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread: whoever started us decides
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Run:
    """One pass of the pipeline, reported from its first event to its last."""

    lock: Lock
    context: Context
    clean: Redactor
    keeper: FindingKeeper

    def go(self, stages: tuple[Stage, ...], *, forced: bool) -> Ended:
        """Run the stages; write the report; raise what stopped them."""
        started, begin = datetime.now(UTC), time.monotonic()
        self._announce(stages)
        outcomes: list[StageOutcome] = []
        failure: BaseException | None = None
        try:
            for outcome in build(self.lock, self.context, stages, forced=forced, clock=time.monotonic):
                outcomes.append(outcome)  # noqa: PERF402  what came before a failure counts
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  reported, then raised again
            failure = error
        end = RunEnd(
            run=self.context.workspace.run,
            recipe=self.lock.name,
            started=started,
            seconds=time.monotonic() - begin,
            outcomes=tuple(outcomes),
            failure=failure,
            findings=self.keeper.by_stage,
        )
        ended = self._report(end)
        if failure is not None:
            raise failure
        return ended

    def _announce(self, stages: tuple[Stage, ...]) -> None:
        workspace = self.context.workspace
        self.context.reporter.emit(
            RunStarted(
                run=workspace.run,
                recipe=self.lock.name,
                stages=tuple(item.name for item in stages),
                workspace=str(workspace.path),
            )
        )

    def _report(self, end: RunEnd) -> Ended:
        report, path = report_of(end), self.context.workspace.path / "report.json"
        try:
            write_reports(report, path, self.clean)
        except TorchbuildError:
            if end.failure is None:  # else what stopped the run says more
                raise
        wheel, sha256 = (report.wheel.path, report.wheel.sha256) if report.wheel else ("", "")
        self.context.reporter.emit(
            RunFinished(
                run=end.run, outcome=report.outcome, seconds=report.seconds, wheel=wheel, report=str(path)
            )
        )
        return Ended(run=end.run, outcomes=end.outcomes, report=path, wheel=wheel, sha256=sha256)
