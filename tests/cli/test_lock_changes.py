"""What is different between two locks, in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.cli.lock_changes import changes, recipe_changes
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.knowledge.tables import option_facts
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock, LockedSource


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


def test_the_same_lock_has_no_changes(lock: Lock) -> None:
    """Nothing is said where nothing is to be reviewed."""
    assert changes(lock, lock) == ()


def test_each_value_is_told_with_what_it_was(make_lock: Callable[..., Lock]) -> None:
    """Who reviews a new lock sees what moved, not a thousand lines of digests."""
    source = LockedSource(kind="git", url="https://example.org/torchlet", commit="b" * 40)

    assert changes(make_lock(), make_lock(source=source, glibc="2.41")) == (
        "glibc: 2.36 -> 2.41",
        f"source.commit: {'a' * 40} -> {'b' * 40}",
    )


def test_a_package_that_comes_shifts_no_others(
    make_lock: Callable[..., Lock], artifact: Callable[..., Artifact]
) -> None:
    """Files go by their names: one more package is one change, not a change of all that follow."""
    before = make_lock(build_requires=(artifact("ninja-1.13.0-py3-none-any.whl"),))
    after = make_lock(
        build_requires=(artifact("cmake-4.0.0-py3-none-any.whl"), artifact("ninja-1.13.0-py3-none-any.whl"))
    )

    lines = changes(before, after)

    assert lines
    assert all(line.startswith("build_requires[pypi:cmake]") for line in lines)


def test_many_changes_are_counted(make_lock: Callable[..., Lock]) -> None:
    """A list that nobody reads to the end is cut, and says so."""
    lines = changes(make_lock(), make_lock(environ={f"V{number:02}": "1" for number in range(30)}))

    assert len(lines) == 13
    assert lines[-1].startswith("and ")


def test_a_recipe_tells_what_it_asks_for_now(recipe: Path, lock: Lock) -> None:
    """A stale lock says why it is stale."""
    lines = recipe_changes(lock, read_recipe(recipe))

    assert "source.git: https://example.org/torchlet -> https://git.example/small.git" in lines


def test_what_only_the_tree_tells_is_no_change_of_the_recipe(
    recipe: Path, make_lock: Callable[..., Lock]
) -> None:
    """The tree is not read where a stale lock is explained: what it said stays as it was."""
    found = option_facts().found[0].name
    lines = recipe_changes(make_lock(environ={found: "OFF"}, unpinned=("a.zip",)), read_recipe(recipe))

    assert [line for line in lines if line.startswith((f"environ.{found}", "unpinned"))] == []
