"""A recipe file with all that it extends, merged key by key."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

from torchbuild.errors import RecipeError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.decode import decode_recipe, parse_toml
from torchbuild.resolve.lines import key_lines
from torchbuild.resolve.rules import check_rules

__all__ = ["MAX_DEPTH", "load_recipe", "merge"]

MAX_DEPTH = 16
"""How many files may extend one another."""

Read = Callable[[str], str]
"""Text of a file by its path. Raises RecipeError where it cannot be read."""


def load_recipe(path: str, read: Read, *, overrides: tuple[str, ...] = ()) -> Recipe:
    """The merged recipe. `overrides` are ``dotted.key=TOML value`` of the command line."""
    table, lines = _merged(path, read, seen=())
    for override in overrides:
        table = merge(table, _override(override))
    recipe = decode_recipe(table, file=path, lines=lines)
    check_rules(recipe, file=path, lines=lines)
    return recipe


def _merged(path: str, read: Read, seen: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, int]]:
    path = posixpath.normpath(path)
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
    text = read(path)
    table, lines = parse_toml(text, path), key_lines(text)
    base = table.get("extends")
    if not isinstance(base, str):
        return table, lines
    base_path = posixpath.join(posixpath.dirname(path), base)
    below, _ = _merged(base_path, read, (*seen, path))
    table.pop("extends")
    below.pop("name", None)
    return merge(below, table), lines


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Tables are merged key by key; any other value of `above` replaces that of `below`."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        result[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def _override(text: str) -> dict[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise RecipeError(
            "override-invalid",
            f"--set {text!r} is not KEY=VALUE",
            fix="Write it as --set python.version='\"3.12\"' or --set machine.jobs=2.",
        )
    try:
        return parse_toml(f"{key} = {value}", "--set")
    except RecipeError:
        return parse_toml(f'{key} = "{_escaped(value)}"', "--set")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
