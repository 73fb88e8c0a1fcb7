"""Going back into a run's workspace."""

from __future__ import annotations

import difflib
from pathlib import Path

from torchbuild.cli.places import Places
from torchbuild.cli.survey import executor_for
from torchbuild.edges.workspace import open_workspace
from torchbuild.errors import UsageError
from torchbuild.model.command import Command
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Image, Machine, Recipe, Source, Wheel
from torchbuild.resolve.environment import full_environment
from torchbuild.resolve.lockfile import parse_lock

__all__ = ["revisit"]


def revisit(run: str, argv: tuple[str, ...], places: Places) -> int:
    """Hand the terminal to a shell, or to `argv`, in the run's environment; its exit code."""
    path = places.builds / run
    lock = _lock_of(run, path, places)
    with open_workspace(places.builds, run, store=places.store, cache=places.compiler_cache) as workspace:
        executor = executor_for(_recipe_of(lock), lock.image, places, workspace.root, run)
        environ = dict(full_environment(lock)) | dict(executor.environment()) | {"TERM": "xterm-256color"}
        command = Command(
            argv=argv or ("/bin/bash", "--norc", "-i"),
            cwd="{source}" if (workspace.root / "source").is_dir() else "{work}",
            environ=tuple(sorted(environ.items())),
        )
        return executor.shell(command)


def _lock_of(run: str, path: Path, places: Places) -> Lock:
    try:
        return parse_lock((path / "lock.toml").read_text(encoding="utf-8"), str(path / "lock.toml"))
    except OSError as error:
        known = sorted(item.name for item in places.builds.glob("*")) if places.builds.is_dir() else []
        near = difflib.get_close_matches(run, known, n=3, cutoff=0.3)
        raise UsageError(
            "run-unknown",
            f"there is no run {run}",
            why=f"nearest: {', '.join(near)}" if near else "there are no runs on this machine",
            fix="Name a run that `torchbuild store` lists.",
        ) from error


def _recipe_of(lock: Lock) -> Recipe:
    """As much of a recipe as the executor asks for."""
    image = Image(name=lock.image.name, id=lock.image.id) if lock.image else None
    return Recipe(
        schema=1,
        name=lock.name,
        source=Source(path="."),
        wheel=Wheel(version=lock.wheel.public_version),
        image=image,
        machine=Machine(),
    )
