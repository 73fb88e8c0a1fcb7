"""`torchbuild store`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.main import run_main


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, folder in (("TORCHBUILD_CACHE", "cache"), ("TORCHBUILD_BUILDS", "builds"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


def test_an_empty_machine_holds_nothing(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To ask what there is works before anything was built, and makes nothing."""
    assert run_main(["store"]) == 0

    assert f"no runs in {machine / 'builds'}" in capsys.readouterr().out
    assert not (machine / "builds").exists()


def test_a_program_gets_paths_and_bytes(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes are numbers of bytes, places are paths."""
    assert run_main(["store", "--json"]) == 0

    value = json.loads(capsys.readouterr().out)
    assert value["runs"] == []
    assert value["builds"] == str(machine / "builds")
    assert value["store"]["bytes"] == 0


def test_a_run_is_listed_with_its_recipe(desk: Any) -> None:
    """For a person by its name, which `shell` and `clean` take; whether a build holds it is said."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    run = desk.only_run().name

    text = desk.run("store").out
    (row,) = desk.run("store", "--json").json["runs"]

    assert f"  {run}\n" in text
    assert (row["run"], row["recipe"], row["busy"]) == (run, "tiny", False)
    assert row["bytes"] > 0
