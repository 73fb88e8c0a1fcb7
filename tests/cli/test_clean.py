"""`torchbuild clean`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.main import run_main
from torchbuild.edges.workspace import open_workspace


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, folder in (("TORCHBUILD_CACHE", "cache"), ("TORCHBUILD_BUILDS", "builds"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


def test_nothing_is_removed_by_default(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A workspace may hold the only copy of a failed build: one must say what may go."""
    assert run_main(["clean"]) == 2

    assert "error[clean-what]" in capsys.readouterr().err


def test_a_run_that_is_not_there_is_not_taken_for_removed(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt run is an error."""
    assert run_main(["clean", "small-0123456789"]) == 2

    assert "error[run-unknown]" in capsys.readouterr().err


def test_an_empty_machine_is_clean(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To clean twice is no error."""
    assert run_main(["clean", "--builds", "--cache", "--json"]) == 0

    value = json.loads(capsys.readouterr().out)
    assert (value["bytes"], value["kept"]) == (0, [])


def test_a_run_is_removed_by_its_name(desk: Any) -> None:
    """And the store stays."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    path = desk.only_run()

    ended = desk.run("clean", path.name)

    assert ended.out.startswith("removed 1 items")
    assert not path.exists()
    assert list(desk.places.store.rglob("*"))


def test_what_a_build_holds_stays_and_is_said(desk: Any) -> None:
    """With the rest removed."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    path = desk.only_run()

    with open_workspace(desk.places.builds, path.name, store=desk.places.store, cache=desk.places.cache):
        ended = desk.run("clean", "--builds", "--json")

    assert path.is_dir()
    assert f"kept {path}: " in ended.err
    assert [item["path"] for item in ended.json["kept"]] == [str(path)]


def test_a_cache_is_emptied(desk: Any) -> None:
    """Stored files, repositories and compiler caches."""
    desk.lock()
    (desk.places.compiler_cache / "ccache").mkdir(parents=True)

    assert desk.run("clean", "--cache").code == 0

    assert not [path for path in desk.places.store.rglob("*") if path.is_file()]
    assert not desk.places.compiler_cache.exists()


def test_images_that_we_unpacked_go_with_the_cache(desk: Any) -> None:
    """And what image making left; one that somebody brought as a file stays."""
    ours, brought = desk.places.roots / ("a" * 64), desk.places.roots / "builder.tar"
    room = desk.places.cache / "images" / "room"
    for folder in (ours / "etc", room):
        folder.mkdir(parents=True)
    brought.write_bytes(b"an image")

    assert desk.run("clean", "--cache").code == 0

    assert list(desk.places.roots.iterdir()) == [brought]
    assert not room.parent.exists()


def test_a_folder_that_is_used_for_other_things_is_left_alone(desk: Any) -> None:
    """With TORCHBUILD_CACHE set to somebody's home, a folder called git there is theirs."""
    mine = desk.places.cache / "git" / "my-repository"
    mine.mkdir(parents=True)
    (desk.places.cache / "letters.txt").write_text("mine too", encoding="utf-8")

    ended = desk.run("clean", "--cache", "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (2, "cache-not-ours")
    assert "letters.txt" in ended.json["error"]["why"][0]
    assert mine.is_dir()
