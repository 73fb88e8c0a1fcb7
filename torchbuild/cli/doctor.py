"""``torchbuild doctor``: what would fail here, and on the target, before anything is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from torchbuild.cli.options import json_option

if TYPE_CHECKING:
    from torchbuild.model.lock import Lock
    from torchbuild.model.recipe import Recipe

__all__ = ["doctor"]

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("recipe", type=_FILE, required=False)
@click.option("--lock", metavar="FILE", type=_FILE, help="The lock. Default: NAME.lock, where it is fresh.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Set a key, as in build.")
@click.option(
    "--allow-path", "allowed", metavar="FOLDER", type=_FILE, multiple=True,
    help="Folder outside the recipe's own that its paths may lie in. Can be repeated.",
)  # fmt: skip
@click.option(
    "--target-is-host", is_flag=True,
    help="Take this machine's driver and GPUs for the target's, whatever the recipe says.",
)  # fmt: skip
@json_option
def doctor(
    *,
    recipe: Path | None,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    target_is_host: bool,
    as_json: bool,
) -> int:
    """Look at this machine, and with RECIPE at all that would fail of it, here and on its target.

    Nothing is fetched, built or changed. The target is what the recipe says, never this machine: without
    target.driver nobody can say whether the wheel runs there, and that is `not run`. Failures come first,
    each with what was seen, what is wanted and what to do. `torchbuild explain REFERENCE` says more.

    Exit code: 0 where nothing failed; 4 where the recipe cannot work anywhere as it is; 6 where it cannot be
    built on this machine.
    """
    from torchbuild.cli.doctor_text import print_doctor  # noqa: PLC0415  help must not pay for it
    from torchbuild.cli.output import machine_redactor  # noqa: PLC0415
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.cli.preflighting import case_of  # noqa: PLC0415
    from torchbuild.preflight.checks import exit_code, preflights  # noqa: PLC0415

    if recipe is None:
        _refuse_without_recipe(lock, overrides, allowed, target_is_host=target_is_host)
        case, clean = case_of(None, places(), recipe_dir=Path(), out=Path("dist")), machine_redactor()
    else:
        from torchbuild.cli.recipe_files import read_recipe, recipe_redactor  # noqa: PLC0415

        wanted = read_recipe(recipe, overrides=overrides, allowed=allowed)
        folder, clean = recipe.absolute().parent, recipe_redactor(wanted)
        case = case_of(
            wanted,
            places(),
            recipe_dir=folder,
            out=Path("dist"),
            lock=_fresh_lock(recipe, lock, wanted),
            target_is_host=target_is_host,
        )
    found = preflights(case)
    print_doctor(case, found, name=str(recipe or ""), as_json=as_json, clean=clean)
    return exit_code(found)


def _fresh_lock(recipe: Path, lock: Path | None, wanted: Recipe) -> Lock | None:
    """The lock where it is there and fresh; one that the caller names must be."""
    from torchbuild.cli.recipe_files import lock_path, read_lock  # noqa: PLC0415  as above
    from torchbuild.errors import LockError  # noqa: PLC0415

    try:
        return read_lock(lock or lock_path(recipe), wanted, recipe.absolute().parent)
    except LockError:
        if lock is not None:
            raise
        return None


def _refuse_without_recipe(
    lock: Path | None, overrides: tuple[str, ...], allowed: tuple[Path, ...], *, target_is_host: bool
) -> None:
    if lock is None and not overrides and not allowed and not target_is_host:
        return
    from torchbuild.errors import UsageError  # noqa: PLC0415  as above

    raise UsageError(
        "doctor-options",
        "--lock, --set, --allow-path and --target-is-host belong to a recipe",
        why="seen one of them without a recipe",
        fix="Name the recipe, or leave them out.",
    )
