"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from torchbuild.cli.dev_hints import advise_dev
from torchbuild.errors import TorchbuildError

__all__ = ["dev_option", "json_option", "progress_option", "recipe_options", "slice_options"]

F = TypeVar("F", bound=Callable[..., Any])
_DEV = "Of build --dev, which has a lock of its own: NAME.dev.lock beside the recipe."


def json_option(command: F) -> F:
    """``--json``: the result on stdout as JSON."""
    text = "Print the result on stdout as JSON; an error too."
    return click.option("--json", "as_json", is_flag=True, help=text)(command)


def progress_option(command: F) -> F:
    """``--progress``."""
    text = (
        "How progress is told on stderr: auto, rich, plain, github, gitlab, jsonl or none. auto: rich at a"
        " terminal, folds in a job of GitHub or GitLab, else plain."
    )
    looks = ("auto", "rich", "plain", "github", "gitlab", "jsonl", "none")
    return click.option("--progress", metavar="LOOK", type=click.Choice(looks), default="auto", help=text)(
        command
    )


def dev_option(text: str = _DEV) -> Callable[[F], F]:
    """``--dev``. What the command advises where it fails then names the commands of a dev build."""

    def decorate(command: F) -> F:
        @wraps(command)
        def advising(*args: Any, **named: Any) -> Any:  # noqa: ANN401  whatever the command takes and gives
            try:
                return command(*args, **named)
            except TorchbuildError as error:
                if named["is_dev"]:
                    advise_dev(error)
                raise

        return click.option("--dev", "is_dev", is_flag=True, help=text)(cast("F", advising))

    return decorate


def slice_options(command: F) -> F:
    """``--from`` and ``--until``."""
    command = click.option("--until", "last", metavar="STAGE", help="End after this stage.")(command)
    text = "Begin with this stage, even if it is done; those before must be."
    return click.option("--from", "first", metavar="STAGE", help=text)(command)


def recipe_options(command: F) -> F:
    """The recipe, its lock, overrides and allowed folders."""
    file = click.Path(path_type=Path)
    text = "Folder outside the recipe's own that its paths and bases may lie in. Can be repeated."
    command = click.option("--allow-path", "allowed", metavar="FOLDER", type=file, multiple=True, help=text)(
        command
    )
    text = "Set a key, as in --set machine.jobs=2. Outside [machine], name a --lock as well. Can be repeated."
    command = click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help=text)(command)
    text = "The lock. Default: NAME.lock beside the recipe NAME.toml."
    command = click.option("--lock", "lock", metavar="FILE", type=file, help=text)(command)
    return click.argument("recipe", type=file)(command)
