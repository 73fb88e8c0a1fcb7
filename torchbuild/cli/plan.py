"""``torchbuild plan``: what would run, in order, with the exact commands. Nothing is run."""

from __future__ import annotations

from pathlib import Path

import click

from torchbuild.cli.options import dev_option, json_option, recipe_options, slice_options

__all__ = ["plan"]


@click.command()
@recipe_options
@slice_options
@dev_option()
@json_option
def plan(
    *,
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    first: str | None,
    last: str | None,
    is_dev: bool,
    as_json: bool,
) -> None:
    """Print every stage of RECIPE: what it takes, its commands with their whole environment, what it checks.

    Nothing is run and nothing is asked: the lock must be there and of this state of the recipe. Of what the
    commands see, only the number of jobs is left out: it is this machine's.

    Stages: fetch, toolchain, source, configure, compile, package, verify, publish.
    """
    from torchbuild.cli.output import print_result  # noqa: PLC0415  help must not pay for the pipeline
    from torchbuild.cli.plan_text import plan_json, plan_text  # noqa: PLC0415
    from torchbuild.cli.recipe_files import (  # noqa: PLC0415
        lock_path,
        read_lock,
        read_recipe,
        recipe_redactor,
    )
    from torchbuild.pipeline import keys, plan_all, stage_slice  # noqa: PLC0415

    wanted = read_recipe(recipe, overrides=overrides, allowed=allowed, is_dev=is_dev)
    made = read_lock(lock or lock_path(recipe, is_dev=is_dev), wanted, recipe.absolute().parent)
    names = {item.name for item in stage_slice(first, last)}
    whole = plan_all(made)
    by_stage = keys(whole, is_dev=is_dev)
    plans = [(item, by_stage[item.stage]) for item in whole if item.stage in names]
    print_result(
        {"stages": plan_json(plans)}, as_json=as_json, text=plan_text(plans), clean=recipe_redactor(wanted)
    )
