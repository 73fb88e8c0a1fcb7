"""The commands by name. The table holds their help, so that ``torchbuild --help`` imports none of them."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import click

from torchbuild.errors import UsageError

__all__ = ["COMMANDS", "Entry", "load_command", "unknown_command"]


class Entry(NamedTuple):
    """Where a command is, and what it is for."""

    where: str
    """``module:attribute``."""
    help: str
    """One line."""


_WITH_FACTS = frozenset({"build", "doctor", "image", "init", "lock", "plan"})
"""What decides by facts: the user's own lie over ours while it runs. `explain` lays them by itself."""

COMMANDS = {
    "init": Entry("torchbuild.cli.init:init", "Write a recipe that can work for a GPU and a driver."),
    "doctor": Entry("torchbuild.cli.doctor:doctor", "Say what would fail here, before anything is fetched."),
    "build": Entry("torchbuild.cli.build:build", "Build, verify and publish the wheel of a recipe."),
    "plan": Entry("torchbuild.cli.plan:plan", "Say what a build would run, in order; run nothing."),
    "lock": Entry("torchbuild.cli.lock:lock", "Pin every input of a recipe by digest."),
    "image": Entry("torchbuild.cli.image:image", "Make the builder image of a lock, offline."),
    "report": Entry("torchbuild.cli.report:report", "Say what a run did; write its timeline."),
    "shell": Entry("torchbuild.cli.shell:shell", "Enter the environment of a build, as it was."),
    "clean": Entry("torchbuild.cli.clean:clean", "Remove workspaces, stored files and caches."),
    "store": Entry("torchbuild.cli.store:store", "Say what this machine holds; check it; collect garbage."),
    "explain": Entry("torchbuild.cli.explain:explain", "Explain an error, a check, a recipe key or a file."),
    "schema": Entry("torchbuild.cli.schema:schema", "Print the JSON schema of recipes."),
}


def load_command(name: str) -> click.Command:
    """The command, imported now."""
    module, _, attribute = COMMANDS[name].where.partition(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)  # noqa: S101  our own table
    if name not in _WITH_FACTS:
        return command
    from torchbuild.cli.facts_overlay import with_user_facts  # noqa: PLC0415  the list of commands needs none

    return with_user_facts(command)


def unknown_command(name: str) -> UsageError:
    """The error for a command that does not exist, with the one that was probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415  only where somebody mistyped

    near = get_close_matches(name, COMMANDS, n=1)
    return UsageError(
        "command-unknown",
        f"there is no command {name!r}",
        why=f"wanted one of {', '.join(COMMANDS)}",
        fix=f"Run torchbuild {near[0]}." if near else "Run torchbuild --help for what there is.",
    )
