"""`torchbuild lock`."""

from __future__ import annotations

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


def test_a_check_changes_nothing(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In CI one asks whether the lock is there and of this recipe; the answer is the exit code."""
    assert run_main(["lock", str(recipe), "--check"]) == 5

    assert "error[lock-missing]" in capsys.readouterr().err
    assert list(recipe.parent.iterdir()) == [recipe]


@pytest.mark.parametrize("content", ["", "not a lock", "schema = 1\n", "schema = 99\n"])
def test_a_lock_that_is_none_is_refused(
    recipe: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lock that was cut short, edited or made by another version is not believed."""
    recipe.with_suffix(".lock").write_text(content)

    assert run_main(["lock", str(recipe), "--check"]) == 5

    assert "error[lock-" in capsys.readouterr().err


def test_a_lock_that_is_good_is_named(desk: Any) -> None:
    """With what nobody could pin; the file is not touched."""
    desk.lock(unpinned=("the compilers of this machine",))
    before = (desk.folder / "tiny.lock").stat()

    ended = desk.run("lock", "tiny.toml", "--check")

    assert (ended.code, ended.out) == (0, "tiny.lock\n")
    assert "not pinned: the compilers of this machine" in ended.err
    assert (desk.folder / "tiny.lock").stat() == before


def test_a_program_gets_the_number_of_files(desk: Any) -> None:
    """And the digest of the recipe that the lock is of."""
    lock = desk.lock()

    value = desk.run("lock", "tiny.toml", "--check", "--json").json

    assert value == {"lock": "tiny.lock", "recipe": lock.recipe, "files": 1, "unpinned": [], "facts": []}


@pytest.mark.parametrize("command", ["lock", "build"])
def test_set_never_overwrites_the_lock_of_the_file(desk: Any, command: str) -> None:
    """With --set and no --lock, the lock beside the recipe stays byte for byte what it is."""
    desk.lock()
    before = (desk.folder / "tiny.lock").read_bytes()

    ended = desk.run(command, "tiny.toml", "--set", "wheel.version=9.9", "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (2, "lock-not-named")
    assert (desk.folder / "tiny.lock").read_bytes() == before


@pytest.mark.parametrize("command", ["lock", "build"])
def test_a_folder_is_no_lock(desk: Any, command: str) -> None:
    """--lock names a file; that it does not is told before anything is looked up."""
    (desk.folder / "locks").mkdir()

    ended = desk.run(command, "tiny.toml", "--lock", "locks", "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (2, "lock-is-folder")
    assert "--lock locks/NAME.lock" in ended.json["error"]["fix"]
    assert "looking at" not in ended.err


@pytest.mark.parametrize("command", ["lock", "build", "plan", "image"])
@pytest.mark.parametrize("place", [".", "..", "/", ""])
def test_a_folder_is_no_recipe(desk: Any, command: str, place: str) -> None:
    """Whatever stands where the recipe should: it is told as what it is, an unreadable recipe."""
    ended = desk.run(command, place, "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (3, "recipe-unreadable")


@pytest.mark.parametrize("command", ["lock", "build"])
def test_a_lock_in_no_folder_is_refused_at_once(desk: Any, command: str) -> None:
    """--lock makes no folders: neither the lock nor a way to it appears."""
    ended = desk.run(command, "tiny.toml", "--lock", "nowhere/x.lock", "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (2, "lock-folder-missing")
    assert not (desk.folder / "nowhere").exists()
