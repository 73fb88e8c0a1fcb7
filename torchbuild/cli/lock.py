"""``torchbuild lock``: every input by digest."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from torchbuild.cli.options import json_option, recipe_options

__all__ = ["lock"]


@click.command()
@recipe_options
@click.option("--check", is_flag=True, help="Change nothing; fail where the lock is missing or stale.")
@json_option
def lock(
    *,
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    check: bool,
    as_json: bool,
) -> None:
    """Write RECIPE's lock: commits, digests, requirements, image and interpreter, as they are today.

    What could not be pinned is said on stderr. The lock's path is printed on stdout.
    """
    from torchbuild.cli.lock_changes import changes  # noqa: PLC0415  help must not pay for it
    from torchbuild.cli.locking import make_lock, world  # noqa: PLC0415
    from torchbuild.cli.output import print_result  # noqa: PLC0415
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.cli.recipe_files import (  # noqa: PLC0415
        lock_path,
        read_lock,
        read_recipe,
        recipe_redactor,
        stale_lock,
        write_lock,
    )

    path = lock or lock_path(recipe)
    wanted = read_recipe(recipe, overrides=overrides, allowed=allowed)
    clean = recipe_redactor(wanted)

    def tell(text: str) -> None:
        sys.stderr.write(clean.redact(text) + "\n")

    if check:
        made = read_lock(path, wanted, recipe.absolute().parent)
    else:
        before = stale_lock(path)
        made = make_lock(wanted, world(wanted, places(), recipe.absolute().parent, allowed), tell)
        write_lock(path, made)
        for line in changes(before, made) if before else ():
            tell(f"  {line}")
    for text in made.unpinned:
        tell(f"not pinned: {text}")
    files = len(made.artifacts())
    result = {"lock": path, "recipe": made.recipe, "files": files, "unpinned": list(made.unpinned)}
    print_result(result, as_json=as_json, text=str(path))
