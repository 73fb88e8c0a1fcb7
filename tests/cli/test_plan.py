"""`torchbuild plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.main import run_main
from torchbuild.pipeline import keys, plan_all


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


def test_a_plan_is_made_from_a_lock(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a lock nobody knows what would run; none is made in passing."""
    assert run_main(["plan", str(recipe)]) == 5

    assert "error[lock-missing]" in capsys.readouterr().err
    assert list(recipe.parent.iterdir()) == [recipe]


def test_a_plan_makes_nothing(desk: Any) -> None:
    """No workspace, no cache; the text can be compared between machines."""
    desk.lock()
    before = sorted(desk.folder.parent.rglob("*"))

    ended = desk.run("plan", "tiny.toml")

    assert ended.code == 0, ended.err
    assert ended.out.startswith("# == fetch ==  key ")
    assert (
        "  /torchbuild/venv/bin/python -m build --wheel --no-isolation --outdir /torchbuild/dist" in ended.out
    )
    assert sorted(desk.folder.parent.rglob("*")) == before


def test_a_slice_is_planned_with_the_keys_of_the_whole(desk: Any) -> None:
    """What is shown of a stage does not depend on what else is shown."""
    desk.lock()

    whole = desk.run("plan", "tiny.toml", "--json").json["stages"]
    part = desk.run("plan", "tiny.toml", "--json", "--from", "source", "--until", "compile").json["stages"]

    assert part == [item for item in whole if item["stage"] in {"source", "configure", "compile"}]


def test_the_plan_of_a_dev_build_is_of_its_own_lock(desk: Any) -> None:
    """What `build --dev` would run stands in the lock that it uses, and under the keys that it has there."""
    lock = desk.lock(is_dev=True)

    ended = desk.run("plan", "tiny.toml", "--dev", "--json")

    assert ended.code == 0, ended.err
    seen = {item["stage"]: item["key"] for item in ended.json["stages"]}
    assert seen == keys(plan_all(lock), is_dev=True)
    assert seen != keys(plan_all(lock))


@pytest.mark.parametrize(("options", "command"), [((), "lock RECIPE"), (("--dev",), "lock --dev RECIPE")])
def test_a_lock_that_is_missing_can_be_made(desk: Any, options: tuple[str, ...], command: str) -> None:
    """The command that the error names makes the lock that was looked for."""
    ended = desk.run("plan", "tiny.toml", *options, "--json")

    assert ended.json["error"]["reference"] == "lock-missing"
    assert f"`torchbuild {command}`" in ended.json["error"]["fix"]
