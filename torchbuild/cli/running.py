"""From a recipe to a running pipeline: the composition root of `build`."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from torchbuild.cli.backing import backed, backend_of, endpoints_of, marks_of, silence_told
from torchbuild.cli.builder_image import have_locked_image
from torchbuild.cli.despite import OPEN_NETWORK
from torchbuild.cli.dev_hints import advise_dev
from torchbuild.cli.disk_care import is_paused, store_kept_below, watch_disk
from torchbuild.cli.lock_changes import changes
from torchbuild.cli.locking import World, make_lock, world
from torchbuild.cli.machine_settings import keep_allowed, keep_despite, keep_settings
from torchbuild.cli.out_folder import check_out
from torchbuild.cli.places import Places
from torchbuild.cli.pool_token import pool_token, token_laid
from torchbuild.cli.preflight_gate import Gate
from torchbuild.cli.recipe_files import (
    lock_path,
    lock_to_write,
    read_lock,
    read_recipe,
    recipe_redactor,
    stale_lock,
    write_lock,
)
from torchbuild.cli.run_report import FindingKeeper, RunEnd, report_of, write_reports
from torchbuild.cli.run_warnings import tell_of_other_facts, warner
from torchbuild.cli.running_signals import StopRequests
from torchbuild.cli.survey import executor_alone, settled
from torchbuild.context import Context, Executor, Reporter
from torchbuild.edges.atomic import leftovers, remove_tree, write_text
from torchbuild.edges.guarded import GuardedExecutor
from torchbuild.edges.live_locks import register
from torchbuild.edges.logged import LoggedExecutor
from torchbuild.edges.records import StageRecords
from torchbuild.edges.relay import RelayTold, relayed
from torchbuild.edges.trees import StoreTrees
from torchbuild.edges.workspace import DirectoryWorkspace, open_workspace
from torchbuild.errors import LockError, TorchbuildError
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.pipeline import STAGES, Stage, StageOutcome, build
from torchbuild.report.broadcast import Broadcast
from torchbuild.report.events import RunFinished, RunStarted, Warned
from torchbuild.report.jsonl import JsonLines, open_events
from torchbuild.report.progress import Look, renderers_for
from torchbuild.report.redaction import Redactor
from torchbuild.resolve.adopted import keep_adopted
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
    is_dev: bool = False
    """One kept workspace for the recipe, where people edit; the wheel says so."""
    despite: tuple[str, ...] = ()
    """What the build goes on in spite of: ``open-network``, preflights by reference."""
    until: float | None = None
    """The moment, as `time.monotonic` tells it, after which nothing begins any more."""

    progress: Look = "auto"
    """How progress is told: one of `torchbuild.report.progress.LOOKS`."""

    @property
    def overridden(self) -> tuple[str, ...]:
        """Preflights that it goes on in spite of."""
        return tuple(name for name in self.despite if name != OPEN_NETWORK)


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


class _Opened(NamedTuple):
    """A build that may begin."""

    lock: Lock
    """Every input."""
    workspace: DirectoryWorkspace
    """Held."""
    executor: Executor
    """For its commands."""
    allowed: tuple[str, ...]
    """What of the network any run in it was allowed."""
    despite: tuple[str, ...]
    """What any run in it went on in spite of."""


class _Allowed(NamedTuple):
    """What of the network a build is allowed."""

    endpoints: tuple[str, ...]
    """For the relay's inner half."""
    despite: tuple[str, ...]
    """As on the command line."""


def run_build(asked: Asked, places: Places, stages: tuple[Stage, ...]) -> Ended:
    """Build; the report is written however it ends."""
    if STAGES[-1] in stages:
        check_out(asked.out)
    recipe = read_recipe(asked.recipe, overrides=asked.overrides, allowed=asked.allowed, is_dev=asked.is_dev)
    clean = recipe_redactor(recipe)
    backend, told = backend_of(recipe.machine, os.environ), RelayTold()
    token = pool_token(recipe.machine, os.environ)

    def tell(text: str) -> None:
        sys.stderr.write(clean.redact(text) + "\n")

    folder = asked.recipe.absolute().parent
    there = world(recipe, places, folder, asked.allowed, paranoid=asked.paranoid)
    gate = Gate(recipe=recipe, here=places, recipe_dir=folder, out=asked.out, despite=asked.overridden)
    stopping = StopRequests(until=asked.until, tell=tell)
    _sweep({asked.out.absolute(), (asked.lock or asked.recipe).absolute().parent})
    with (
        stopping.heard(),
        store_kept_below(recipe.machine, places, tell),
        _opened(asked, recipe, there, tell, gate) as opened,
        relayed(endpoints_of(recipe.machine, backend), opened.workspace.root, told) as endpoints,
        backed(backend, opened.lock.compiler_cache, opened.workspace.root, told),
        token_laid(token, opened.workspace.root),
    ):
        workspace = opened.workspace
        keeper = FindingKeeper()
        renderers = [
            *renderers_for(asked.progress, sys.stderr, os.environ, time.monotonic),
            JsonLines(open_events(workspace.path / "events.jsonl")),
            keeper,
        ]
        with Broadcast(clean, renderers) as reporter:
            for item in (opened.executor, there.downloads):
                watch_disk(item, recipe.machine, places, workspace.path, reporter)
            there.downloads.report_to(
                warner(reporter, Warned(stage="fetch", reference="address-passed-over", text=""))
            )
            told.report_to(silence_told(reporter))
            waiting = (opened.executor, there.downloads)
            stopping.report_to(
                warner(reporter, Warned(stage="", reference="stopping", text="")),
                lambda: any(is_paused(item) for item in waiting),
            )
            tell_of_other_facts(opened.lock, reporter)
            network = _Allowed(endpoints, asked.despite)
            executor = _guarded(opened.executor, opened.lock, workspace, reporter, network)
            context = _context(asked, there, opened, LoggedExecutor(executor, clean.redact), reporter)
            context = replace(context, stopping=stopping, distribute=recipe.machine.distribute)
            return _Run(opened.lock, context, clean, keeper, gate, stopping).go(stages, forced=asked.forced)


def _context(asked: Asked, there: World, opened: _Opened, executor: Executor, reporter: Reporter) -> Context:
    """The world, as the stages of this run may ask it."""
    workspace = opened.workspace
    return Context(
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
        is_dev=asked.is_dev,
        allowed=opened.allowed,
        despite=opened.despite,
    )


def _guarded(
    executor: Executor, lock: Lock, workspace: DirectoryWorkspace, reporter: Reporter, allowed: _Allowed
) -> Executor:
    """The executor whose commands without a network are stopped where they ask for it."""
    return GuardedExecutor(
        executor,
        python=lock.python.executable,
        root=workspace.root,
        warn=warner(reporter, Warned(stage="", reference="network-not-watched", text="")),
        endpoints=allowed.endpoints,
        despite_open_network="open-network" in allowed.despite,
    )


def _sweep(places: set[Path]) -> None:
    """Remove what a killed run left half-written among the user's own files; others sweep themselves."""
    for left in (left for place in places for left in leftovers(place)):
        remove_tree(left)


def _locked(asked: Asked, recipe: Recipe, there: World, tell: Callable[[str], None], gate: Gate) -> Lock:
    """The lock beside the recipe, or a new one that is written there; what would fail is refused before."""
    path = asked.lock or lock_path(asked.recipe, is_dev=asked.is_dev)
    try:
        lock = read_lock(path, recipe, asked.recipe.absolute().parent)
    except LockError as error:
        if asked.must_be_locked or error.reference == "lock-too-new":
            raise
        lock_to_write(asked.recipe, asked.lock, asked.overrides, is_dev=asked.is_dev)
        gate.check()
        tell(f"{error.what}: making it" + (" anew" if path.exists() else ""))
    else:
        if not (there.places.builds / run_name(lock, is_dev=asked.is_dev)).exists():
            gate.check(lock)
        have_locked_image(lock, recipe, there, tell)
        return lock
    before = stale_lock(path)
    lock = keep_adopted(before, make_lock(recipe, there, tell, despite=asked.overridden))
    write_lock(path, lock)
    for line in changes(before, lock) if before else ():
        tell(f"  {line}")
    tell(f"locked: {path}")
    return lock


def run_name(lock: Lock, *, is_dev: bool = False) -> str:
    """The recipe's name and the first digits of the lock's digest: the same lock, the same workspace.

    Where people edit there is one workspace for a recipe's name, whatever its lock.
    """
    if is_dev:
        return f"{lock.name}-dev"
    return f"{lock.name}-{hashlib.sha256(dump_lock(lock).encode()).hexdigest()[:10]}"


@contextmanager
def _opened(
    asked: Asked, recipe: Recipe, there: World, tell: Callable[[str], None], gate: Gate
) -> Iterator[_Opened]:
    """The lock, the run's workspace, held, its executor, and what was ever allowed and overridden in it.

    From the first look at what the lock names until the lock is live, nothing is collected: an image that was
    there, or was just unpacked, is there when the build begins.
    """
    places = there.places
    with ExitStack() as kept:
        with there.store.shared():
            lock = _locked(asked, recipe, there, tell, gate)
            workspace = kept.enter_context(
                open_workspace(
                    places.builds,
                    run_name(lock, is_dev=asked.is_dev),
                    store=places.store,
                    cache=places.compiler_cache,
                    recipe=recipe.name,
                )
            )
            machine = settled(recipe.machine)
            executor = executor_alone(machine, lock.image, places, workspace.root, workspace.run)
            keep_settings(workspace.path, machine)
            kept_lock = workspace.path / "lock.toml"
            now = (
                *marks_of(recipe.machine, backend_of(recipe.machine, os.environ)),
                *(OPEN_NETWORK for name in asked.despite if name == OPEN_NETWORK),
            )
            is_fresh = not kept_lock.exists()
            allowed = keep_allowed(workspace.path, now, is_fresh=is_fresh)
            despite = keep_despite(workspace.path, asked.overridden, is_fresh=is_fresh)
            write_text(kept_lock, dump_lock(lock))
            register(places.live, workspace.path, dump_lock(lock))
        yield _Opened(lock, workspace, executor, allowed, despite)


class _Run(NamedTuple):
    """One pass of the pipeline, reported from its first event to its last."""

    lock: Lock
    context: Context
    clean: Redactor
    keeper: FindingKeeper
    gate: Gate
    stopping: StopRequests

    def go(self, stages: tuple[Stage, ...], *, forced: bool) -> Ended:
        """Run the stages; write the report; raise what stopped them."""
        started, begin = datetime.now(UTC), time.monotonic()
        self._announce(stages)
        outcomes: list[StageOutcome] = []
        failure: BaseException | None = None
        try:
            walk = build(
                self.lock,
                self.context,
                stages,
                forced=forced,
                clock=time.monotonic,
                before_work=self._before_work,
            )
            for outcome in walk:
                outcomes.append(outcome)  # noqa: PERF402  what came before a failure counts
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  reported, then raised again
            failure = self.stopping.ending(error)
            if self.context.is_dev and isinstance(error, TorchbuildError):
                advise_dev(error)
        end = RunEnd(
            run=self.context.workspace.run,
            recipe=self.lock.name,
            started=started,
            seconds=time.monotonic() - begin,
            outcomes=tuple(outcomes),
            failure=failure,
            findings=self.keeper.by_stage,
            is_dev=self.context.is_dev,
            allowed=self.context.allowed,
            unpinned=self.lock.unpinned,
            despite=self.context.despite,
            preflights=self.gate.findings(),
        )
        ended = self._report(end)
        if failure is not None:
            raise failure
        return ended

    def _before_work(self, stage: str) -> None:
        """What would fail is refused before the first stage that runs; what is overridden is told, once."""
        is_first = self.gate.found is None
        self.gate.before_stage(stage, self.lock)
        if is_first or stage == STAGES[0].name:
            for text in self.gate.overridden():
                self.context.reporter.emit(Warned(stage="", reference="preflight-overridden", text=text))

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
