"""The executor that a recipe and a machine ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchbuild.cli.places import places
from torchbuild.cli.survey import executor_for
from torchbuild.errors import ConflictError
from torchbuild.model.artifact import ImageRef
from torchbuild.model.recipe import Machine

IMAGE = ImageRef(name="localhost/x", id="0a" * 32)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, folder in (("TORCHBUILD_CACHE", "cache"), ("TORCHBUILD_BUILDS", "builds"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "image"), [("local", IMAGE), ("container", None)], ids=["local", "container"]
)
def test_a_machine_does_not_decide_what_the_recipe_does(
    machine: Path, wanted: str, image: ImageRef | None
) -> None:
    """Whether a build happens in an image decides the wheel; [machine] decides nothing of the wheel."""
    with pytest.raises(ConflictError) as caught:
        executor_for(Machine.model_validate({"executor": wanted}), image, places(), machine, "r-1")

    assert caught.value.reference == "executor-contradicts-image"


@pytest.mark.parametrize(
    ("jobs", "seen"), [(3, "3"), (None, str(len(os.sched_getaffinity(0))))], ids=["asked", "default"]
)
def test_jobs_are_those_of_the_machine(machine: Path, jobs: int | None, seen: str) -> None:
    """Without a number, as many compilers run as this process may use cores: a limit of a container counts."""
    executor = executor_for(Machine(jobs=jobs), None, places(), machine, "r-1")

    assert executor.name == "local"
    assert seen in executor.environment().values()
