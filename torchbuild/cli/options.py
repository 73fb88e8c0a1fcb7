"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["json_option", "recipe_options"]

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """``--json``: the result on stdout as JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")(
        command
    )


def recipe_options(command: F) -> F:
    """The recipe, its lock, overrides and allowed folders."""
    file = click.Path(path_type=Path)
    command = click.option(
        "--allow-path", "allowed", type=file, multiple=True, help="Folder that the recipe's paths may lie in."
    )(command)
    command = click.option(
        "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Set a key of the recipe, as TOML."
    )(command)
    command = click.option("--lock", "lock", type=file, help="The lock file. Default: beside the recipe.")(
        command
    )
    return click.argument("recipe", type=file)(command)
