"""A recipe file with all that it extends, merged key by key."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.beside import folders_of, rebased
from torchbuild.resolve.decode import check_sound, decode_recipe, invalid, parse_toml, wants_text
from torchbuild.resolve.default_archs import with_default_archs
from torchbuild.resolve.lines import Place, Places, key_lines
from torchbuild.resolve.overrides import OVERRIDE_FILE, Override, parse_override
from torchbuild.resolve.problems import shown
from torchbuild.resolve.rules import check_rules

__all__ = ["MAX_DEPTH", "Loaded", "load_recipe", "load_with_places", "merge"]

MAX_DEPTH = 16
"""How many files may extend one another."""

Read = Callable[[str], str]
"""Text of a file by its path. Raises RecipeError where it cannot be read."""
Table = dict[str, Any]
V = TypeVar("V")


class Loaded(NamedTuple):
    """A recipe, and where each of its keys stands."""

    recipe: Recipe
    """The merged recipe; its paths are relative to the folder of the file that was asked for. Architectures
    that it leaves to the facts are in it."""
    places: Places
    """For messages: file and line of each key."""
    is_derived: bool = False
    """Whether its architectures are those that the facts give its GPUs."""


class _Merged(NamedTuple):
    """A table, where each of its keys stands, and the folders that its paths are relative to."""

    table: Table
    places: Places
    folders: Mapping[str, str]

    def under(self, table: Table, places: Places, folder: str) -> _Merged:
        """With another table laid over it, out of a file in `folder`."""
        return _Merged(
            merge(self.table, table),
            _kept(self.places, table) | dict(places),
            folders_of(table, folder, _kept(self.folders, table)),
        )


def load_recipe(path: str, read: Read, *, overrides: tuple[str, ...] = ()) -> Recipe:
    """The merged recipe. `overrides` are ``dotted.key=TOML value`` of the command line.

    Raises:
        RecipeError: ``recipe-invalid`` with all problems, each with the file and line where its key stands;
            ``recipe-not-supported-yet`` likewise; ``recipe-not-toml``, ``recipe-too-large``,
            ``recipe-extends-cycle``, ``recipe-extends-too-deep``, ``override-invalid``; what `read` raises.
    """
    return load_with_places(path, read, overrides=overrides).recipe


def load_with_places(path: str, read: Read, *, overrides: tuple[str, ...] = ()) -> Loaded:
    """As `load_recipe`, with the places of all keys: for what is found out about the recipe later."""
    merged = _merged(path, read, seen=())
    for text in overrides:
        merged = _overridden(merged, parse_override(text))
    table = rebased(merged.table, merged.folders)
    recipe = decode_recipe(table, file=path, places=merged.places)
    check_rules(recipe, file=path, places=merged.places)
    settled = with_default_archs(recipe)
    return Loaded(settled, merged.places, settled is not recipe)


def _merged(path: str, read: Read, seen: tuple[str, ...]) -> _Merged:
    path = posixpath.normpath(path)
    _check_chain(path, seen)
    text = read(path)
    table = parse_toml(text, path)
    folder = posixpath.relpath(posixpath.dirname(path) or ".", posixpath.dirname((*seen, path)[0]) or ".")
    places = {key: Place(path, line) for key, line in key_lines(text).items()}
    base = table.get("extends")
    if not isinstance(base, str):
        return _Merged(table, places, folders_of(table, folder, {}))
    _check_extends(base, path, places)
    below = _merged(posixpath.join(posixpath.dirname(path), base), read, (*seen, path))
    table.pop("extends")
    below.table.pop("name", None)
    return below.under(table, places, folder)


def _check_chain(path: str, seen: tuple[str, ...]) -> None:
    if path in seen:
        raise RecipeError(
            "recipe-extends-cycle",
            f"{seen[0]} extends itself",
            why=" -> ".join((*seen, path)),
            fix="Remove one `extends` of this circle.",
        )
    if len(seen) >= MAX_DEPTH:
        raise RecipeError(
            "recipe-extends-too-deep",
            f"{seen[0]} extends more than {MAX_DEPTH} files",
            why=" -> ".join((*seen, path)),
            fix="Merge some of these files.",
        )


def _check_extends(base: str, path: str, places: Places) -> None:
    if base.strip() and base.isprintable() and not base.startswith("/") and "://" not in base:
        return
    wanted = "the path of another recipe, relative to this file"
    raise invalid((Problem(path="extends", seen=shown(base), wanted=wanted),), path, places)


def _kept(below: Mapping[str, V], above: Table) -> dict[str, V]:
    return {path: value for path, value in below.items() if _counts(path, above)}


def _counts(path: str, above: Table) -> bool:
    """Whether what stands at `path` still counts with `above` laid over it."""
    keys, index, _ = path.partition("[")
    value: Any = above
    for part in keys.split("."):
        if not isinstance(value, dict):
            return False
        if part not in value:
            return True
        value = value[part]
    return isinstance(value, dict) and not index


def _overridden(merged: _Merged, override: Override) -> _Merged:
    """A value typed without quotes is text where only text may stand."""
    table, places = override.table(), dict(_brought(merged.table, override))
    check_sound(table, OVERRIDE_FILE, lambda: places)
    if not isinstance(override.value, str | list | dict):
        as_text = override.dotted in wants_text(merge(merged.table, table))
        table = override.table(as_text=as_text)
    return merged.under(table, places, ".")


def _brought(table: Table, override: Override) -> Iterator[tuple[str, Place]]:
    """The key, and the tables above it that stand in no file: all that the command line answers for."""
    value: Any = table
    for index, part in enumerate(override.path, start=1):
        value = value.get(part) if isinstance(value, dict) else None
        if index == len(override.path) or not isinstance(value, dict):
            yield ".".join(override.path[:index]), Place(OVERRIDE_FILE, None)


def merge(below: Table, above: Table) -> Table:
    """Tables are merged key by key; any other value of `above` replaces that of `below`."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        result[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
