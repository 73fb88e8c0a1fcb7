"""``torchbuild image``: the builder image of a lock."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from torchbuild.cli.options import dev_option, json_option, recipe_options

if TYPE_CHECKING:
    from torchbuild.model.lock import Lock

__all__ = ["image"]


@click.command()
@recipe_options
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the image there as an OCI archive, and ask no engine.",
)
@dev_option()
@json_option
def image(
    *,
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    out: Path | None,
    is_dev: bool,
    as_json: bool,
) -> None:
    """Make the builder image of RECIPE's lock out of its packages, and load it into the engine.

    Where the engine has it nothing is done. Packages that the store has are not fetched, so that all of this
    works without a network. The image's id is printed on stdout: the one that the lock names.
    """
    from torchbuild.cli.builder_image import have_locked_image, write_image  # noqa: PLC0415  help must not pay
    from torchbuild.cli.locking import world  # noqa: PLC0415
    from torchbuild.cli.output import print_result  # noqa: PLC0415
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.cli.recipe_files import lock_path, read_lock, read_recipe  # noqa: PLC0415

    wanted = read_recipe(recipe, overrides=overrides, allowed=allowed, is_dev=is_dev)
    folder = recipe.absolute().parent
    locked = read_lock(lock or lock_path(recipe, is_dev=is_dev), wanted, folder)
    there = world(wanted, places(), folder, allowed)
    if locked.builder is None or locked.image is None:
        raise _not_of_packages(locked)

    def tell(text: str) -> None:
        sys.stderr.write(text + "\n")

    name = locked.image.name
    found = locked.image.id
    with there.store.shared():  # no collection takes what is fetched before it is used
        if out is None:
            have_locked_image(locked, wanted, there, tell)
        else:
            found = write_image(locked.builder, out.absolute(), name, there, tell).config.sha256
    result = {"image": name, "id": found, "packages": len(locked.builder.packages), "archive": out}
    print_result(result, as_json=as_json, text=found)


def _not_of_packages(lock: Lock) -> Exception:
    from torchbuild.errors import UsageError  # noqa: PLC0415  as above

    named = f"the image {lock.image.name}, made elsewhere" if lock.image else "no image: this machine builds"
    return UsageError(
        "image-not-of-packages",
        f"{lock.name}: its lock names no packages to make an image of",
        why=f"seen: {named}",
        fix="Set image.suite and image.packages in the recipe, and run torchbuild lock.",
    )
