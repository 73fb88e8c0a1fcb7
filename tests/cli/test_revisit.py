"""Going back into a run's workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.revisit import revisit, unknown_run
from torchbuild.edges.workspace import open_workspace
from torchbuild.errors import HostError, UsageError


def test_a_misspelt_run_is_answered_with_the_nearest(tmp_path: Path) -> None:
    """Names of runs are long; nobody types them right."""
    error = unknown_run("torch-2.6-cpu-012345", tmp_path / "nowhere")

    assert (error.reference, error.exit_code) == ("run-unknown", 2)
    assert "torch-2.6-cpu-012345" in error.what


def test_a_workspace_without_a_lock_is_no_run(desk: Any) -> None:
    """One that was killed before it began has nothing to go back to."""
    with open_workspace(desk.places.builds, "tiny-1", store=desk.places.store, cache=desk.places.cache):
        pass

    with pytest.raises(UsageError) as caught:
        revisit("tiny-1", (), desk.places)

    assert caught.value.reference == "run-unknown"


def test_the_environment_is_the_builds_own(desk: Any) -> None:
    """At the fixed path, with the variables of the lock; a program is found by its name."""
    desk.lock(environ={"USE_CUDA": "OFF"})
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")

    script = "echo $USE_CUDA $HOME $PWD >said; exit 5"
    code = revisit(desk.only_run().name, ("sh", "-c", script), desk.places)

    said = (desk.only_run() / "root" / "said").read_text(encoding="utf-8")
    assert (code, said) == (5, "OFF /torchbuild/home /torchbuild\n")


def test_the_machines_settings_are_the_builds_own(desk: Any) -> None:
    """The shell of a build that used three jobs has three, whatever the default is."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch", "--set", "machine.jobs=3")

    revisit(desk.only_run().name, ("sh", "-c", "echo $MAX_JOBS >said"), desk.places)

    assert (desk.only_run() / "root" / "said").read_text(encoding="utf-8") == "3\n"


def test_a_shell_waits_for_no_build(desk: Any) -> None:
    """While a build works in there, nobody else does."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    name = desk.only_run().name

    with (
        open_workspace(desk.places.builds, name, store=desk.places.store, cache=desk.places.cache),
        pytest.raises(HostError) as caught,
    ):
        revisit(name, ("true",), desk.places)

    assert caught.value.reference == "workspace-busy"
