"""``torchbuild plan``: what would run, in order, with the exact commands. Nothing is run."""

from __future__ import annotations

import json
from pathlib import Path

import click

from torchbuild.cli.options import json_option, recipe_options

__all__ = ["plan"]


@click.command()
@recipe_options
@click.option("--from", "first", metavar="STAGE", help="Begin here.")
@click.option("--until", "last", metavar="STAGE", help="End after this stage.")
@json_option
def plan(
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    first: str | None,
    last: str | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Print every stage of RECIPE with its commands and their whole environment. Needs the lock."""
    from torchbuild.cli.recipe_files import lock_path, read_lock, read_recipe  # noqa: PLC0415  as in build
    from torchbuild.model.command import render  # noqa: PLC0415
    from torchbuild.pipeline import plan_all, stage_slice  # noqa: PLC0415

    wanted = read_recipe(recipe, overrides=overrides, allowed=allowed)
    made = read_lock(lock or lock_path(recipe), wanted)
    plans = plan_all(made, stage_slice(first, last))
    if as_json:
        rows = [
            {
                "stage": item.stage,
                "key": item.key,
                "needs": list(item.needs),
                "makes": list(item.makes),
                "commands": [command.expanded().model_dump(mode="json") for command in item.commands],
            }
            for item in plans
        ]
        click.echo(json.dumps({"stages": rows}, indent=1))
        return
    for item in plans:
        click.echo(f"# {item.stage}  key {item.key[:12]}  makes {', '.join(item.makes) or 'nothing'}")
        for command in item.commands:
            click.echo(render(command.expanded()))
        click.echo()
