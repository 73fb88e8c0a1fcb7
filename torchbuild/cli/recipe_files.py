"""Recipe and lock files on disk. What a recipe names lies in the recipe's own folder, unless allowed."""

from __future__ import annotations

from pathlib import Path

from torchbuild.edges.atomic import write_text
from torchbuild.errors import LockError, Problem, RecipeError
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.load import load_recipe
from torchbuild.resolve.lockfile import check_fresh, dump_lock, parse_lock
from torchbuild.resolve.rules import local_paths

__all__ = ["lock_path", "read_lock", "read_recipe", "write_lock"]


def read_recipe(path: Path, *, overrides: tuple[str, ...] = (), allowed: tuple[Path, ...] = ()) -> Recipe:
    """The merged recipe; RecipeError with every problem.

    Args:
        path: the recipe.
        overrides: ``dotted.key=value`` of the command line.
        allowed: further folders that the recipe's paths may lie in.
    """
    path = path.absolute()
    roots = (path.parent.resolve(), *(folder.resolve() for folder in allowed))
    recipe = load_recipe(
        str(path), lambda name: _read(Path(name), roots, first=str(path)), overrides=overrides
    )
    outside = [item for item in local_paths(recipe) if not _is_inside(path.parent / item[1], roots)]
    if outside:
        raise RecipeError(
            "recipe-path-outside",
            f"{path.name} names files outside its own folder",
            problems=tuple(
                Problem(path=key, seen=value, wanted=f"a path inside {path.parent}", file=str(path))
                for key, value in outside
            ),
            fix="Move the files beside the recipe, or allow their folder with --allow-path FOLDER.",
        )
    return recipe


def _is_inside(path: Path, roots: tuple[Path, ...]) -> bool:
    resolved = path.resolve()
    return any(resolved == root or root in resolved.parents for root in roots)


def _read(path: Path, roots: tuple[Path, ...], *, first: str) -> str:
    """Text of a recipe file. A file that is extended may lie in the folder above: recipes share a base."""
    if str(path) != first and not _is_inside(path, (*roots, *(root.parent for root in roots[:1]))):
        raise RecipeError(
            "recipe-path-outside",
            f"{path.name} is extended, and lies outside the recipe's folder",
            why=(f"seen {path}", f"wanted a file inside {roots[0].parent}"),
            fix="Move the file, or allow its folder with --allow-path FOLDER.",
        )
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(
            "recipe-unreadable",
            f"{path} cannot be read",
            why=str(error),
            fix="Name a recipe file that exists and is UTF-8 text.",
        ) from error


def lock_path(recipe: Path) -> Path:
    """``NAME.lock`` beside ``NAME.toml``."""
    return recipe.with_suffix(".lock")


def read_lock(path: Path, recipe: Recipe) -> Lock:
    """The lock, fresh for this recipe; LockError otherwise."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise LockError(
            "lock-missing",
            f"there is no {path.name} beside the recipe",
            why=f"wanted {path}",
            fix="Make it with `torchbuild lock`, or build without --locked.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise LockError(
            "lock-unreadable",
            f"{path} cannot be read",
            why=str(error),
            fix="Make it anew with `torchbuild lock`.",
        ) from error
    lock = parse_lock(text, str(path))
    check_fresh(lock, recipe, str(path))
    return lock


def write_lock(path: Path, lock: Lock) -> None:
    """Write the lock, whole."""
    write_text(path, dump_lock(lock))
