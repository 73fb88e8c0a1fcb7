"""`torchbuild build`, as far as it goes without building."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.main import run_main
from torchbuild.pipeline import STAGES


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, folder in (("TORCHBUILD_CACHE", "cache"), ("TORCHBUILD_BUILDS", "builds"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


@pytest.fixture
def recipe(machine: Path) -> Path:
    """A recipe that is right, and has no lock."""
    path = machine / "here" / "small.toml"
    path.write_text(
        'schema = 1\nname = "small"\n'
        '[source]\ngit = "https://git.example/small.git"\nref = "v1"\n'
        '[wheel]\npackage = "small"\nversion = "1.0"\n'
    )
    return path


def test_a_recipe_that_is_not_there_is_said(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is named, and nothing is made."""
    assert run_main(["build", "missing.toml"]) == 3

    assert "missing.toml" in capsys.readouterr().err
    assert not (machine / "builds").exists()


def test_every_problem_of_a_recipe_is_told_at_once(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One corrects a recipe once, not once a problem; each has its line and what was probably meant."""
    recipe.write_text(
        recipe.read_text() + 'pakage = "x"\n[tagret]\nmachine = "x86_64"\n[build]\ntype = "Relese"\n'
    )

    assert run_main(["build", str(recipe), "--json"]) == 3

    error = json.loads(capsys.readouterr().out)["error"]
    assert {problem["path"] for problem in error["problems"]} == {"wheel.pakage", "tagret", "build.type"}
    assert {problem["suggestion"].strip("'\"") for problem in error["problems"]} == {
        "package",
        "target",
        "Release",
    }
    assert all(problem["line"] for problem in error["problems"])


def test_locked_forbids_to_lock(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In CI a build is made from the lock that was reviewed, or not at all."""
    assert run_main(["build", str(recipe), "--locked"]) == 5

    assert "error[lock-missing]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "reference"),
    [
        (["--from", "nowhere"], "stage-unknown"),
        (["--from", "verify", "--until", "fetch"], "stage-order"),
        (["--target", "c10", "--until", "verify"], "target-until"),
        (["--target="], "target-invalid"),
        (["--target=-t"], "target-invalid"),
        (["--target", "--version"], "target-invalid"),
        (["--set", "nonsense"], "override-invalid"),
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_found_before_anything_is_done(
    recipe: Path, machine: Path, argv: list[str], reference: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error costs no download."""
    assert run_main(["build", str(recipe), *argv]) in (2, 3)

    assert f"error[{reference}]" in capsys.readouterr().err
    assert not (machine / "builds").exists()


def test_the_help_names_the_stages(capsys: pytest.CaptureFixture[str]) -> None:
    """What --from and --until take need not be looked up."""
    for command in ("build", "plan"):
        assert run_main([command, "--help"]) == 0

        text = " ".join(capsys.readouterr().out.split())
        assert ", ".join(item.name for item in STAGES) in text


def test_a_slice_prints_its_report(desk: Any) -> None:
    """Without a wheel the report is the result; progress goes to stderr."""
    desk.lock()

    ended = desk.run("build", "tiny.toml", "--locked", "--until", "fetch")

    assert ended.code == 0, ended.err
    assert ended.out == f"{desk.only_run() / 'report.json'}\n"
    assert "fetch" in ended.err


def test_a_program_gets_json_alone(desk: Any) -> None:
    """On stdout, whatever is told on stderr; what is done is reused, what is asked for by name runs."""
    desk.lock()
    argv = ("build", "tiny.toml", "--locked", "--until", "fetch", "--json")

    first, second, forced = desk.run(*argv), desk.run(*argv), desk.run(*argv, "--from", "fetch")

    assert first.json["stages"] == [{"stage": "fetch", "outcome": "done"}]
    assert second.json["stages"] == [{"stage": "fetch", "outcome": "reused"}]
    assert forced.json["stages"] == [{"stage": "fetch", "outcome": "done"}]
    assert (first.json["wheel"], first.json["sha256"]) == (None, None)


def test_progress_is_told_as_asked(desk: Any) -> None:
    """As JSON for a program, folded for GitHub, or not at all; the result stays on stdout."""
    desk.lock()
    argv = ("build", "tiny.toml", "--locked", "--until", "fetch")

    events = desk.run(*argv, "--progress", "jsonl")
    folded = desk.run(*argv, "--from", "fetch", "--progress", "github")
    silent = desk.run(*argv, "--progress", "none")

    assert [json.loads(line)["kind"] for line in events.err.splitlines()][-1] == "run-finished"
    assert "::group::fetch\n" in folded.err
    assert (silent.err, silent.out) == ("", events.out)


def test_a_stage_cannot_begin_where_nothing_is(desk: Any) -> None:
    """With the stage to begin from."""
    desk.lock()

    ended = desk.run("build", "tiny.toml", "--locked", "--from", "package", "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (2, "stage-needs-earlier")
    assert "--from fetch" in ended.json["error"]["fix"]


def test_a_stale_lock_says_what_changed(desk: Any) -> None:
    """Before anybody asks."""
    desk.lock()
    text = desk.recipe.read_text(encoding="utf-8")
    desk.recipe.write_text(text + "[build]\nflags = { USE_MPI = true }\n", encoding="utf-8")

    ended = desk.run("build", "tiny.toml", "--locked", "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (5, "lock-stale")
    assert any("environ.USE_MPI: " in line and "-> ON" in line for line in ended.json["error"]["why"])
