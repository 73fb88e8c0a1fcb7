"""`torchbuild explain --why-rerun`: what a build would do again is known, with its reason, before it does it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.places import Places
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.cli.running import run_name
from torchbuild.cli.why_rerun import Answer, why_rerun
from torchbuild.edges.records import StageRecords
from torchbuild.edges.workspace import open_workspace
from torchbuild.model.lock import Lock
from torchbuild.model.stage import StageResult
from torchbuild.pipeline import plan_all, watched, whole_keys
from torchbuild.resolve.assemble import recipe_digest
from torchbuild.resolve.dev import dev_recipe
from torchbuild.resolve.lockfile import dump_lock

MakeLock = Callable[..., Lock]


@pytest.fixture
def here(tmp_path: Path) -> Places:
    """A machine of its own."""
    return Places(cache=tmp_path / "cache", builds=tmp_path / "builds")


def built(lock: Lock, here: Places, run: str = "") -> Path:
    """A workspace in which every stage is done and left a file in each place that it makes."""
    with open_workspace(
        here.builds,
        run or run_name(lock),
        store=here.store,
        cache=here.compiler_cache,
        recipe=lock.name,
    ) as workspace:
        plans = plan_all(lock)
        whole = whole_keys(plans)
        for plan in plans:
            for path in plan.makes:
                place = workspace.inside(path) / "made"
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("bytes", encoding="utf-8")
            result = StageResult(summary="done")
            StageRecords(workspace).remember(plan.stage, whole[plan.stage], plan.makes, result)
    return workspace.path


def why(answer: Answer) -> dict[str, tuple[str, ...]]:
    """The reasons of each stage that runs again, less that of publish, which always looks."""
    return {item.stage: item.why for item in answer.stages if not item.is_reused and item.stage != "publish"}


def test_what_is_done_and_intact_is_reused(lock: Lock, here: Places) -> None:
    """All but publish, whose work lies where no workspace can see whether it is still there."""
    built(lock, here)

    answer = why_rerun(lock, here)

    assert why(answer) == {}
    assert answer.run == answer.compared == run_name(lock)
    assert answer.stages[-1].why == ("what it makes lies outside of the workspace: it looks each time",)


def test_a_machine_without_a_run_has_nothing_done(lock: Lock, here: Places) -> None:
    """It is asked before the first build as well, and makes no directory."""
    answer = why_rerun(lock, here)

    assert {item.why for item in answer.stages} == {("nothing of it is done",)}
    assert "no run of this recipe" in next(answer.lines())
    assert not here.builds.exists()


def test_a_path_that_changed_is_named_and_what_builds_on_it_follows(lock: Lock, here: Places) -> None:
    """The reason is told where it is, and the rest only refers to it."""
    path = built(lock, here)
    (path / "root/source/made").write_text("more bytes", encoding="utf-8")

    reasons = why(why_rerun(lock, here))

    assert list(reasons) == ["source", "configure", "compile", "package", "verify"]
    assert reasons["source"] == ("source/made: it had 5 bytes and has 10",)
    assert reasons["configure"] == ("stage source runs again",)


def test_another_lock_is_compared_with_the_last_run_of_the_recipe(make_lock: MakeLock, here: Places) -> None:
    """A new lock has a new workspace: all runs, and each field that decides a stage is named in it."""
    built(make_lock(), here)

    answer = why_rerun(make_lock(environ={"USE_CUDA": "ON", "USE_MPI": "OFF"}), here)

    assert (answer.compared, answer.run) != (answer.run, answer.compared)
    reasons = why(answer)
    assert reasons["fetch"] == ("nothing that decides it changed, but a new workspace is empty",)
    assert "lock: environ.USE_CUDA changed" in reasons["configure"]
    assert "lock: environ.USE_MPI is new" in reasons["configure"]


def test_the_last_run_is_the_one_that_was_opened_last(make_lock: MakeLock, here: Places) -> None:
    """Not the one whose name comes last, nor one of another recipe."""
    paths = [built(make_lock(epoch=epoch), here) for epoch in (1, 2)]
    paths.append(built(make_lock(name="other"), here))
    for age, path in enumerate(paths):
        os.utime(path / "about.json", (1000 - age, 1000 - age))
    os.utime(paths[2] / "about.json", (5000, 5000))

    assert why_rerun(make_lock(epoch=3), here).compared == paths[0].name


def test_a_revision_that_was_raised_is_named(
    lock: Lock, here: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer torchbuild does a stage anew where it does it otherwise, and says so; nothing before it."""
    built(lock, here)
    monkeypatch.setattr("torchbuild.stages.configure.REVISION", 999)

    reasons = why(why_rerun(lock, here))

    assert list(reasons) == ["configure", "compile", "package", "verify"]
    assert reasons["configure"][0].startswith("revision changed from ")
    assert reasons["configure"][0].endswith(" to 999")


def test_only_paranoia_sees_a_flipped_byte_whose_time_was_put_back(lock: Lock, here: Places) -> None:
    """The fast check looks at metadata: this is what it cannot see, and what --paranoid is for."""
    made = built(lock, here) / "root/venv/made"
    before = made.stat()
    made.write_text("bytez", encoding="utf-8")
    os.utime(made, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert why(why_rerun(lock, here)) == {}
    reasons = why(why_rerun(lock, here, paranoid=True))
    assert reasons["toolchain"] == ("venv/made: its bytes changed, its size did not",)


def test_many_reasons_are_counted_for_a_person_and_listed_for_a_program(lock: Lock, here: Places) -> None:
    """A removed tree does not scroll the rest away."""
    path = built(lock, here)
    for number in range(30):
        (path / f"root/source/made{number}").touch()
    with open_workspace(here.builds, path.name, store=here.store, cache=here.cache) as workspace:
        plans = {plan.stage: plan for plan in plan_all(lock)}
        key = whole_keys(tuple(plans.values()))["source"]
        StageRecords(workspace).remember("source", key, plans["source"].makes, StageResult(summary="x"))
    for number in range(30):
        (path / f"root/source/made{number}").unlink()

    answer = why_rerun(lock, here)

    assert sum("it is gone" in line for line in answer.lines()) == 8
    assert any("and 22 more" in line for line in answer.lines())
    assert len(answer.json()["stages"][2]["why"]) == 30


def test_the_command_answers_for_a_recipe(desk: Any) -> None:
    """In words and as JSON; it needs a lock that fits, and runs and writes nothing."""
    lock = desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")

    text = desk.run("explain", "--why-rerun", "tiny.toml").out
    value = desk.run("explain", "--why-rerun", "tiny.toml", "--json").json

    assert text.splitlines()[0] == f"run {run_name(lock)}"
    assert [item["outcome"] for item in value["stages"]][:2] == ["reused", "rerun"]
    assert value["stages"][1]["why"] == ["it is not recorded as done in this workspace"]


def test_a_recipe_without_a_lock_is_told_to_be_locked(desk: Any) -> None:
    """What a build would make first is not made by a question."""
    ended = desk.run("explain", "--why-rerun", "tiny.toml")

    assert (ended.code, "lock-missing" in ended.err) == (5, True)


@pytest.mark.parametrize(
    "option", [("--paranoid",), ("--dev",), ("--set", "a=1"), ("--lock", "x.lock"), ("--allow-path", ".")]
)
def test_its_options_mean_nothing_without_it(desk: Any, option: tuple[str, ...]) -> None:
    """An option that would be ignored is refused."""
    ended = desk.run("explain", "source", *option)

    assert (ended.code, "explain-options" in ended.err) == (2, True)


def kept(lock: Lock, here: Places) -> Path:
    """The workspace of a recipe that people edit in, after a build."""
    run = run_name(lock, is_dev=True)
    with open_workspace(here.builds, run, store=here.store, cache=here.compiler_cache) as workspace:
        plans = plan_all(lock)
        whole = whole_keys(plans, is_dev=True)
        for plan in plans:
            for path in plan.makes:
                place = workspace.inside(path) / "made"
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("bytes", encoding="utf-8")
            makes = watched(plan, is_dev=True)
            StageRecords(workspace).remember(
                plan.stage, whole[plan.stage], makes, StageResult(summary="done")
            )
    return workspace.path


def test_a_kept_workspace_can_be_asked(make_lock: MakeLock, here: Places) -> None:
    """An edit of its tree makes no stage run again but compile, which asks ninja each time."""
    path = kept(make_lock(), here)
    (path / "root/source/made").write_text("an edit", encoding="utf-8")

    answer = why_rerun(make_lock(), here, is_dev=True)

    assert answer.run == answer.compared == path.name
    assert why(answer) == {
        "compile": ("people edit here: ninja is asked each time what is new",),
        "package": ("stage compile runs again",),
        "verify": ("stage compile runs again",),
    }


def test_a_new_lock_uses_the_kept_workspace(make_lock: MakeLock, here: Places) -> None:
    """There is one for a recipe, whatever its lock; a change of the source carries on through ninja alone."""
    lock = make_lock()
    kept(lock, here)
    source = lock.source.model_copy(update={"commit": "f" * 40})

    answer = why_rerun(make_lock(source=source), here, is_dev=True)

    assert list(why(answer)) == ["fetch", "source", "compile", "package", "verify"]
    assert "lock: source.commit changed" in why(answer)["source"]


def test_no_clean_run_answers_for_a_kept_workspace(lock: Lock, here: Places) -> None:
    """The two have nothing in common."""
    built(lock, here)

    assert why_rerun(lock, here, is_dev=True).compared == ""


def test_the_command_asks_the_kept_workspace(desk: Any) -> None:
    """By the recipe, lock and name that `build --dev` takes."""
    lock = desk.lock()
    wanted = dev_recipe(read_recipe(desk.recipe))
    dev = lock.model_copy(update={"recipe": recipe_digest(wanted)})
    desk.recipe.with_suffix(".dev.lock").write_text(dump_lock(dev), encoding="utf-8")
    desk.run("build", "tiny.toml", "--locked", "--dev", "--until", "fetch")

    value = desk.run("explain", "--why-rerun", "--dev", "tiny.toml", "--json").json

    assert value["run"] == value["compared"] == "tiny-dev"
    assert value["stages"][0]["outcome"] == "reused"


def test_what_lies_in_an_allowed_folder_is_read_as_a_build_reads_it(desk: Any) -> None:
    """A recipe that builds with --allow-path can be asked with it."""
    base = desk.folder.parent / "bases" / "base.toml"
    base.parent.mkdir()
    base.write_text("[build]\nenv = {}\n", encoding="utf-8")
    text = desk.recipe.read_text(encoding="utf-8")
    desk.recipe.write_text(
        text.replace("[source]", 'extends = "../bases/base.toml"\n\n[source]', 1), encoding="utf-8"
    )
    desk.lock(allowed=(base.parent,))
    asked = ("explain", "--why-rerun", "tiny.toml", "--json")

    assert desk.run(*asked).json["error"]["reference"] == "recipe-path-outside"

    ended = desk.run(*asked, "--allow-path", base.parent)
    assert ended.code == 0, ended.err
    assert len(ended.json["stages"]) == len(plan_all(desk.lock(allowed=(base.parent,))))
