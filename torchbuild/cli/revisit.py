"""Going back into a run's workspace."""

from __future__ import annotations

import difflib
from pathlib import Path

from torchbuild.cli.machine_settings import kept_settings
from torchbuild.cli.places import Places
from torchbuild.cli.survey import executor_alone
from torchbuild.edges.housekeeping import workspaces
from torchbuild.edges.workspace import open_workspace
from torchbuild.errors import UsageError
from torchbuild.model.command import Command
from torchbuild.model.lock import Lock
from torchbuild.resolve.environment import full_environment
from torchbuild.resolve.lockfile import parse_lock

__all__ = ["revisit", "unknown_run"]

_SHELL = ("/bin/bash", "--norc", "-i")


def revisit(run: str, argv: tuple[str, ...], places: Places) -> int:
    """Hand the terminal to a shell, or to `argv`, in the run's environment; its exit code.

    Raises:
        UsageError: ``run-unknown``.
        HostError: ``workspace-busy``, and what the executor raises.
    """
    lock = _lock_of(run, places)
    with open_workspace(places.builds, run, store=places.store, cache=places.compiler_cache) as workspace:
        machine = kept_settings(workspace.path)
        executor = executor_alone(machine, lock.image, places, workspace.root, run)
        environ = dict(full_environment(lock)) | dict(executor.environment()) | {"TERM": "xterm-256color"}
        command = Command(
            # a program by its bare name is looked up on the build's own PATH
            argv=("/usr/bin/env", *argv) if argv else _SHELL,
            cwd="{source}" if (workspace.root / "source").is_dir() else "{work}",
            environ=tuple(sorted(environ.items())),
        )
        return executor.shell(command)


def _lock_of(run: str, places: Places) -> Lock:
    path = next((item.path for item in workspaces(places.builds) if item.run == run), None)
    lock = None if path is None else path / "lock.toml"
    if lock is None or not lock.is_file():
        raise unknown_run(run, places.builds)
    return parse_lock(lock.read_text(encoding="utf-8", errors="replace"), str(lock))


def unknown_run(run: str, builds: Path) -> UsageError:
    """The error for a run that is not on this machine, with those that were probably meant."""
    known = [item.run for item in workspaces(builds)]
    near = difflib.get_close_matches(run, known, n=3, cutoff=0.3)
    return UsageError(
        "run-unknown",
        f"there is no run {run!r}",
        why=f"nearest: {', '.join(near)}" if near else f"seen {len(known)} runs in {builds}",
        fix="Name a run that `torchbuild store` lists.",
    )
