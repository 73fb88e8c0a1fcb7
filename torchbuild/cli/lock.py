"""``torchbuild lock``: every input by digest."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from torchbuild.cli.options import dev_option, json_option, recipe_options

if TYPE_CHECKING:
    from torchbuild.model.lock import Lock

__all__ = ["lock"]


@click.command()
@recipe_options
@click.option("--check", is_flag=True, help="Change nothing; fail where the lock is missing or stale.")
@click.option(
    "--adopt", "adopts", is_flag=True,
    help="Take into the lock, for review, what its last run found and nobody expected.",
)  # fmt: skip
@dev_option()
@json_option
def lock(
    *,
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    check: bool,
    adopts: bool,
    is_dev: bool,
    as_json: bool,
) -> None:
    """Write RECIPE's lock: commits, digests, requirements, image and interpreter, as they are today.

    What could not be pinned is said on stderr. The lock's path is printed on stdout. With --set of a key
    outside [machine], the lock is not that of the file, and needs a name: --lock FILE.
    """
    from torchbuild.cli.output import print_result  # noqa: PLC0415  help must not pay for it
    from torchbuild.cli.recipe_files import (  # noqa: PLC0415
        lock_path,
        lock_to_write,
        read_lock,
        read_recipe,
        recipe_redactor,
    )
    from torchbuild.cli.relocking import adopted_lock, new_lock  # noqa: PLC0415

    wanted = read_recipe(recipe, overrides=overrides, allowed=allowed, is_dev=is_dev)
    if check:
        path = lock or lock_path(recipe, is_dev=is_dev)
    else:
        path = lock_to_write(recipe, lock, overrides, is_dev=is_dev)
    clean = recipe_redactor(wanted)

    def tell(text: str) -> None:
        sys.stderr.write(clean.redact(text) + "\n")

    before: Lock | None = None
    if check:
        made = read_lock(path, wanted, recipe.absolute().parent)
    elif adopts:
        before, made = adopted_lock(recipe, wanted, path, is_dev=is_dev)
    else:
        before, made = new_lock(recipe, wanted, path, allowed=allowed, tell=tell)
    for line in _lines(before, made):
        tell(line)
    files = len(made.artifacts())
    unpinned, facts = list(made.unpinned), list(made.facts)
    result = {"lock": path, "recipe": made.recipe, "files": files, "unpinned": unpinned, "facts": facts}
    print_result(result, as_json=as_json, text=str(path), clean=clean)


def _lines(before: Lock | None, made: Lock) -> Iterator[str]:
    """What is new in a lock, and what in it somebody may want to look at."""
    from torchbuild.cli.facts_overlay import facts_differ  # noqa: PLC0415  as above
    from torchbuild.cli.lock_changes import changes  # noqa: PLC0415
    from torchbuild.resolve.adopted import adopted  # noqa: PLC0415

    if before is not None:
        yield from (f"  {line}" for line in changes(before, made))
    yield from (f"  {row.key} is {row.value}: {row.why}" for row in adopted(made))
    yield from (f"not pinned: {text}" for text in made.unpinned)
    yield from (f"facts of yours: {text}" for text in made.facts)
    yield from (f"facts-differ: {text}" for text in facts_differ(made))
