"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["dev_option", "json_option", "recipe_options", "slice_options"]

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """``--json``: the result on stdout as JSON."""
    text = "Print the result on stdout as JSON; an error too."
    return click.option("--json", "as_json", is_flag=True, help=text)(command)


def dev_option(command: F) -> F:
    """``--dev``, of what looks at a lock."""
    text = "Of build --dev, which has a lock of its own: NAME.dev.lock beside the recipe."
    return click.option("--dev", "is_dev", is_flag=True, help=text)(command)


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
