"""``torchbuild lock``: every input by digest."""

from __future__ import annotations

import json
from pathlib import Path

import click

from torchbuild.cli.options import json_option, recipe_options

__all__ = ["lock"]


@click.command()
@recipe_options
@click.option("--check", is_flag=True, help="Change nothing; fail where the lock is missing or stale.")
@json_option
def lock(
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    check: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Write RECIPE's lock: commits, digests, requirements, image and interpreter, as they are today."""
    from torchbuild.cli.locking import make_lock, world  # noqa: PLC0415  help must not pay for it
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.cli.recipe_files import lock_path, read_lock, read_recipe, write_lock  # noqa: PLC0415

    path = lock or lock_path(recipe)
    wanted = read_recipe(recipe, overrides=overrides, allowed=allowed)
    if check:
        made = read_lock(path, wanted)
    else:
        there = world(wanted, places(), recipe.absolute().parent)
        made = make_lock(wanted, there, lambda text: click.echo(text, err=True))
        write_lock(path, made)
    for text in made.unpinned:
        click.echo(f"not pinned: {text}", err=True)
    if as_json:
        files = len(made.artifacts())
        result = {"lock": str(path), "recipe": made.recipe, "files": files, "unpinned": list(made.unpinned)}
        click.echo(json.dumps(result, indent=1))
    else:
        click.echo(str(path))
