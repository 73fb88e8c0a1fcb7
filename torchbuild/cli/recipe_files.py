"""Recipe and lock files on disk. What a recipe names lies in the recipe's own folder, unless allowed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from torchbuild.cli.local_files import is_inside
from torchbuild.cli.lock_changes import recipe_changes
from torchbuild.cli.output import machine_redactor
from torchbuild.edges.atomic import sha256_of, write_text
from torchbuild.edges.locators import without_credentials
from torchbuild.edges.manifest import tree_digest
from torchbuild.errors import HostError, LockError, Problem, RecipeError, UsageError
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.report.redaction import Redactor
from torchbuild.resolve.beside import local_paths
from torchbuild.resolve.cache_backend import filled
from torchbuild.resolve.dev import dev_recipe
from torchbuild.resolve.load import Loaded, load_with_places
from torchbuild.resolve.lockfile import check_fresh, dump_lock, parse_lock
from torchbuild.resolve.overrides import parse_override
from torchbuild.resolve.problems import located, shown

__all__ = [
    "load_recipe_file",
    "lock_path",
    "lock_to_write",
    "public",
    "read_lock",
    "read_recipe",
    "recipe_redactor",
    "stale_lock",
    "write_lock",
]

_DEV_LOCK = ".dev.lock"


def read_recipe(
    path: Path, *, overrides: tuple[str, ...] = (), allowed: tuple[Path, ...] = (), is_dev: bool = False
) -> Recipe:
    """The merged recipe; RecipeError with every problem. Arguments as for `load_recipe_file`."""
    return load_recipe_file(path, overrides=overrides, allowed=allowed, is_dev=is_dev).recipe


def load_recipe_file(
    path: Path, *, overrides: tuple[str, ...] = (), allowed: tuple[Path, ...] = (), is_dev: bool = False
) -> Loaded:
    """The merged recipe and where its keys stand; RecipeError with every problem.

    Args:
        path: the recipe.
        overrides: ``dotted.key=value`` of the command line.
        allowed: further folders that the recipe's paths may lie in.
        is_dev: as ``build --dev`` builds it.
    """
    path = Path(os.path.normpath(path.absolute()))  # `..` is a folder, and no file that something extends
    roots = (path.parent, *allowed)
    loaded = load_with_places(
        str(path), lambda name: _read(Path(name), roots, first=str(path)), overrides=overrides
    )
    recipe, places = loaded.recipe, loaded.places
    outside = [item for item in local_paths(recipe) if not is_inside(path.parent / item[1], roots)]
    if outside:
        wanted = f"a path inside {path.parent}"
        problems = [Problem(path=key, seen=shown(value), wanted=wanted) for key, value in outside]
        raise RecipeError(
            "recipe-path-outside",
            f"{path.name} names files outside its own folder",
            problems=tuple(located(problem, str(path), places) for problem in problems),
            fix="Move the files beside the recipe, or allow their folder with --allow-path FOLDER.",
        )
    return loaded._replace(recipe=dev_recipe(recipe)) if is_dev else loaded


def public(recipe: Recipe) -> Recipe:
    """The recipe without the credentials of its address: who builds with another token builds the same."""
    source = recipe.source
    if source.git is None:
        return recipe
    clean = source.model_copy(update={"git": without_credentials(source.git)})
    return recipe.model_copy(update={"source": clean})


def recipe_redactor(recipe: Recipe) -> Redactor:
    """Takes out what this user's environment and netrc hold, and the passwords in the recipe's addresses."""
    machine = recipe.machine
    addresses = (
        recipe.source.git or "",
        machine.index_url,
        machine.debian_mirror,
        *machine.mirrors.values(),
        filled(machine.cache_backend, os.environ),
    )
    named = machine.distribute.token[2:-1] if machine.distribute is not None else ""
    told = {f"address {n}": text for n, text in enumerate(addresses)}
    return machine_redactor({**os.environ, **told, "POOL_TOKEN": os.environ.get(named, "")})


def _read(path: Path, roots: tuple[Path, ...], *, first: str) -> str:
    """Text of a recipe file. One that is extended lies where all that a recipe names must lie."""
    if str(path) != first and not is_inside(path, roots):
        raise RecipeError(
            "recipe-path-outside",
            f"{path.name} is extended, and lies outside the recipe's folder",
            why=(f"seen {path}", f"wanted a file inside {roots[0]}"),
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


def lock_path(recipe: Path, *, is_dev: bool = False) -> Path:
    """``NAME.lock`` beside ``NAME.toml``. A wheel that says dev is another one, with a lock of its own."""
    # with_suffix would choke on `.`, which is refused where it is read
    return recipe.parent / f"{recipe.stem}{_DEV_LOCK if is_dev else '.lock'}"


def lock_to_write(
    recipe: Path, lock: Path | None, overrides: tuple[str, ...], *, is_dev: bool = False
) -> Path:
    """Where a new lock goes; asked before the work of making one begins.

    Args:
        recipe: the recipe.
        lock: what the command line names, if anything.
        overrides: ``dotted.key=value`` of the command line.
        is_dev: whether it is a lock of ``build --dev``.

    Raises:
        UsageError: ``lock-not-named`` where it would replace the lock of the recipe as it stands in its file;
            ``lock-folder-missing``; ``lock-is-folder``.
        HostError: ``not-writable``.
    """
    keys = [parse_override(text).dotted for text in overrides]
    changed = [key for key in keys if key.partition(".")[0] != "machine"]  # which no lock holds
    path = lock or lock_path(recipe, is_dev=is_dev)
    other = lock_path(recipe.with_name(f"{recipe.stem}-changed.toml"), is_dev=is_dev).name
    if lock is None and changed:
        raise UsageError(
            "lock-not-named",
            f"{path.name} is the lock of {recipe.name} as it stands, without --set {', '.join(changed)}",
            why=("seen --set without --lock", "wanted a lock of its own for what is not in the file"),
            fix=f"Add --lock FILE, such as --lock {other}.",
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(
            "lock-folder-missing",
            f"{path} cannot be written: there is no such folder",
            why=f"wanted an existing folder {path.absolute().parent}",
            fix=f"Make it: mkdir -p {quote(str(path.parent))}",
        )
    _check_place(path)
    return path


def _check_place(path: Path) -> None:
    """Say now what would be noticed when the lock is made, minutes later."""
    if path.is_dir():
        raise UsageError(
            "lock-is-folder",
            f"{path} is a folder, and the lock is a file",
            why="wanted the name of a file for --lock",
            fix=f"Name the file: --lock {quote(str(path / 'NAME.lock'))}",
        )
    if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
        raise HostError(
            "not-writable",
            f"{path} cannot be written",
            why=f"seen: no right to write in {path.absolute().parent}",
            fix="Name a lock in a folder of yours with --lock FILE, or ask for the right.",
        )


def read_lock(path: Path, recipe: Recipe, folder: Path) -> Lock:
    """The lock, fresh for this recipe and for the files beside it.

    Args:
        path: the lock.
        recipe: what it must be the lock of.
        folder: the recipe's own, in which the files lie that it names.

    Raises:
        LockError: ``lock-missing``, ``lock-unreadable``, ``lock-too-new``, ``lock-stale`` with what changed.
    """
    lock = parse_lock(_lock_text(path), str(path))
    recipe = public(recipe)
    try:
        check_fresh(lock, recipe, str(path))
    except LockError as error:
        error.why = (*error.why, *recipe_changes(lock, recipe))
        raise
    changed = tuple(_changed_files(lock, folder))
    if changed:
        raise LockError(
            "lock-stale",
            f"{path} was made from other files beside the recipe",
            why=changed,
            fix="Run `torchbuild lock` and review what changed.",
        )
    return lock


def _changed_files(lock: Lock, folder: Path) -> Iterator[str]:
    """What beside the recipe is not what was locked: patches, archives, the tree itself."""
    for artifact in lock.artifacts():
        if artifact.locator.startswith("file:"):
            name = artifact.locator.removeprefix("file:")
            seen = sha256_of(folder / name) if (folder / name).is_file() else "no such file"
            if seen != artifact.sha256:
                yield f"{name}: seen {seen}, wanted {artifact.sha256}"
    if lock.source.kind == "path":
        tree = folder / lock.source.path
        seen = tree_digest(tree, without=(".git",)) if tree.is_dir() else "no such directory"
        if seen != lock.source.tree:
            yield f"{lock.source.path}: seen tree {seen}, wanted {lock.source.tree}"


def stale_lock(path: Path) -> Lock | None:
    """The lock that was there, to tell what changed; None where there is none to be read."""
    try:
        return parse_lock(_lock_text(path), str(path))
    except LockError:
        return None


def _lock_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise LockError(
            "lock-missing",
            f"there is no {path.name}",
            why=f"wanted {path}",
            fix="Make it with `torchbuild lock RECIPE`; `torchbuild build` makes it too, without --locked.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise LockError(
            "lock-unreadable",
            f"{path} cannot be read",
            why=str(error),
            fix="Make it anew with `torchbuild lock`.",
        ) from error


def write_lock(path: Path, lock: Lock) -> None:
    """Write the lock, whole; `lock_to_write` says where.

    Raises:
        HostError: ``disk-full``, ``not-writable``.
    """
    write_text(path, dump_lock(lock))
