"""From a recipe to a running pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.cli.places import places
from torchbuild.cli.running import Asked, run_build, run_name
from torchbuild.errors import TorchbuildError
from torchbuild.model.lock import Lock


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
