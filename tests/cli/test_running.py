"""From a recipe to a running pipeline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli import running
from torchbuild.cli.places import places
from torchbuild.cli.running import Asked, run_build, run_name
from torchbuild.context import Context
from torchbuild.edges.atomic import temp_beside
from torchbuild.edges.garbage import collect
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.workspace import open_workspace
from torchbuild.errors import HostError, StageError, TorchbuildError
from torchbuild.model.lock import Lock
from torchbuild.model.stage import StageResult
from torchbuild.pipeline import STAGES, Stage
from torchbuild.resolve.lockfile import parse_lock


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, folder in (("TORCHBUILD_CACHE", "cache"), ("TORCHBUILD_BUILDS", "builds"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


def test_the_same_lock_has_the_same_workspace(make_lock: Callable[..., Lock]) -> None:
    """A build that was killed is found again; another lock is another workspace."""
    assert run_name(make_lock()) == run_name(make_lock())
    assert run_name(make_lock()) != run_name(make_lock(glibc="2.41"))
    assert run_name(make_lock()).startswith("torchlet-")


def test_what_is_wrong_with_a_recipe_costs_nothing(machine: Path) -> None:
    """Nothing is made and nothing is asked before the recipe is right."""
    with pytest.raises(TorchbuildError):
        run_build(Asked(recipe=machine / "missing.toml"), places(), ())

    assert not (machine / "builds").exists()
    assert not (machine / "cache").exists()


def asked(desk: Any) -> Asked:
    """A build of the desk's recipe."""
    return Asked(recipe=desk.recipe, must_be_locked=True)


def stage(run: Callable[[], object]) -> Stage:
    """A stage in fetch's place that does something else."""

    def act(_lock: Lock, _context: Context) -> StageResult:
        run()
        return StageResult(summary="acted")

    return Stage(name="fetch", plan=STAGES[0].plan, run=act, restore=STAGES[0].restore)


def raising(error: BaseException) -> Callable[[], None]:
    """What raises."""

    def act() -> None:
        raise error

    return act


def report_of(desk: Any) -> dict[str, Any]:
    """What the one run left."""
    report: dict[str, Any] = json.loads((desk.only_run() / "report.json").read_text(encoding="utf-8"))
    return report


def test_a_run_leaves_its_lock_its_events_and_its_report(desk: Any) -> None:
    """Whoever comes later finds what was built, from what, and how it went."""
    lock = desk.lock()

    ended = run_build(asked(desk), places(), STAGES[:1])

    run = desk.only_run()
    assert ended.run == run.name == run_name(lock)
    assert parse_lock((run / "lock.toml").read_text(encoding="utf-8"), "lock") == lock
    kinds = [json.loads(line)["kind"] for line in (run / "events.jsonl").read_text().splitlines()]
    assert (kinds[0], kinds[-1]) == ("run-started", "run-finished")
    report = report_of(desk)
    assert (report["outcome"], report["stages"][0]["stage"]) == ("done", "fetch")
    assert report["not_run"] == [item.name for item in STAGES[1:]]


def test_a_lock_of_other_facts_is_built_with_a_warning(desk: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the exact inputs, so it holds; that this machine would decide otherwise is told and kept."""
    desk.lock(facts=("cuda.floor >=12,<13: replaced by the user's overlay, sha256 00",))

    run_build(asked(desk), places(), STAGES[:1])

    events = (desk.only_run() / "events.jsonl").read_text(encoding="utf-8").splitlines()
    (warned,) = [event for event in map(json.loads, events) if event.get("reference") == "facts-differ"]
    assert warned["text"].startswith("locked with cuda.floor >=12,<13")
    assert "facts-differ" in capsys.readouterr().err


def test_a_run_keeps_what_it_used_of_the_machine(desk: Any) -> None:
    """A shell in the run uses the same."""
    desk.lock()
    asking = Asked(
        recipe=desk.recipe,
        must_be_locked=True,
        overrides=("machine.jobs=3", "machine.engine='docker'"),
    )

    run_build(asking, places(), STAGES[:1])

    kept = json.loads((desk.only_run() / "machine.json").read_text(encoding="utf-8"))
    assert kept == {"executor": "auto", "engine": "docker", "jobs": 3}


def test_what_a_killed_run_left_among_the_users_files_goes(desk: Any) -> None:
    """A wheel or a lock that was half-written when the run was killed does not lie there for ever."""
    desk.lock()
    with subprocess.Popen(["/bin/true"]) as gone:
        gone.wait()
    mine = temp_beside(desk.folder / "x").name
    left = [
        folder / mine.replace(f"-{os.getpid()}-", f"-{gone.pid}-")
        for folder in (desk.folder, desk.folder / "dist")
    ]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_text("half", encoding="utf-8")

    run_build(asked(desk), places(), STAGES[:1])

    assert [path.exists() for path in left] == [False, False]


def test_a_failure_is_raised_and_reported(desk: Any) -> None:
    """The report has the error that the terminal shows, and the stage that met it."""
    desk.lock()

    with pytest.raises(StageError, match="it broke"):
        run_build(asked(desk), places(), (stage(raising(StageError("x-y", "it broke", fix="Mend it."))),))

    report = report_of(desk)
    assert (report["outcome"], report["error"]["reference"]) == ("failed", "x-y")
    assert report["stages"][0]["outcome"] == "failed"


def test_a_bug_is_reported_too(desk: Any) -> None:
    """And raised as it is, for the boundary to keep its traceback."""
    desk.lock()

    with pytest.raises(ZeroDivisionError):
        run_build(asked(desk), places(), (stage(raising(ZeroDivisionError("by zero"))),))

    assert report_of(desk)["error"]["reference"] == "internal-error"


def test_ctrl_c_is_reported_as_a_wish(desk: Any) -> None:
    """Stopped, not failed."""
    desk.lock()

    with pytest.raises(KeyboardInterrupt):
        run_build(asked(desk), places(), (stage(raising(KeyboardInterrupt())),))

    report = report_of(desk)
    assert (report["outcome"], report["stages"][0]["outcome"]) == ("stopped", "stopped")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_the_end_of_a_job_is_taken_for_ctrl_c(desk: Any, number: signal.Signals) -> None:
    """A CI system that cancels a job, or a terminal that closes, gets a report; the signal is then as before."""
    desk.lock()
    before = signal.getsignal(number)

    with pytest.raises(KeyboardInterrupt):
        run_build(asked(desk), places(), (stage(lambda: os.kill(os.getpid(), number)),))

    assert report_of(desk)["outcome"] == "stopped"
    assert signal.getsignal(number) == before


def test_a_signal_that_nohup_ignores_stays_ignored(desk: Any) -> None:
    """A build that somebody put into the background goes on when the terminal closes."""
    desk.lock()

    def act() -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        (desk.only_run() / "root" / "inputs").mkdir()

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run_build(asked(desk), places(), (stage(act),))
    finally:
        signal.signal(signal.SIGHUP, before)

    assert report_of(desk)["outcome"] == "done"


def test_what_stopped_a_run_outweighs_a_report_that_cannot_be_written(desk: Any) -> None:
    """The first cause is told, not the second."""
    desk.lock()

    def act() -> None:
        (desk.only_run() / "report.json").mkdir()
        raise StageError("x-y", "the first cause", fix="Mend it.")

    with pytest.raises(StageError, match="the first cause"):
        run_build(asked(desk), places(), (stage(act),))


def test_a_report_that_cannot_be_written_is_no_success(desk: Any) -> None:
    """Where nothing else went wrong, that did."""
    desk.lock()

    def act() -> None:
        (desk.only_run() / "report.json").mkdir()
        (desk.only_run() / "root" / "inputs").mkdir()

    with pytest.raises(HostError):
        run_build(asked(desk), places(), (stage(act),))


def test_a_workspace_that_is_held_is_refused_at_once(desk: Any) -> None:
    """Two builds never write into one place; who holds it is named."""
    name = run_name(desk.lock())

    with (
        open_workspace(desk.places.builds, name, store=desk.places.store, cache=desk.places.cache),
        pytest.raises(HostError) as caught,
    ):
        run_build(asked(desk), places(), STAGES[:1])

    assert caught.value.reference == "workspace-busy"


@pytest.mark.parametrize("step", ["have_locked_image", "open_workspace", "executor_alone", "register"])
def test_what_a_lock_names_is_not_collected_before_it_is_live(
    desk: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Another process that collects at any moment of a build's beginning takes nothing that it will use."""
    lock = desk.lock()
    stored = DirectoryStore(desk.places.store)
    (needed,) = lock.build_requires
    then, seen = getattr(running, step), []

    def collected_first(*args: Any, **named: Any) -> Any:
        seen.append(collect(desk.places.collectable()))
        return then(*args, **named)

    monkeypatch.setattr(running, step, collected_first)
    run_build(asked(desk), places(), STAGES[:1])

    assert [item.removed for item in seen] == [()]
    assert stored.get(needed.sha256) is not None
