"""What the recipe's model accepts and nothing acts on yet: refused by name, never ignored."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.errors import Problem
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.problems import shown

__all__ = ["unsupported"]

_TABLES = ("companions",)
_KEYS = ("target.cpu", "verify.upstream_tests", "machine.caches")
_CHOICES = {
    "toolchain.linker": {"default", "mold"},
    "wheel.runtime": {"builder"},
    "wheel.triton": {"none"},
    "wheel.debug": {"keep"},
    "verify.level": {"static", "cpu"},
}
"""Keys of which only some values are acted on."""


def unsupported(recipe: Recipe) -> Iterator[Problem]:
    """Each key that asks for what this version cannot do."""
    for key in (*_TABLES, *_KEYS):
        if _value(recipe, key) not in (None, (), {}):
            yield Problem(path=key, seen=_seen(recipe, key), wanted="nothing: not supported yet")
    for key, done in _CHOICES.items():
        value = _value(recipe, key)
        if value is not None and value not in done:
            wanted = " or ".join(shown(item) for item in sorted(done)) + ": others are not supported yet"
            yield Problem(path=key, seen=shown(value), wanted=wanted)


def _seen(recipe: Recipe, key: str) -> str:
    return "a table" if key in _TABLES else shown(_value(recipe, key))


def _value(recipe: Recipe, key: str) -> object:
    """What stands at a dotted key; None below a table that is not there."""
    value: object = recipe
    for part in key.split("."):
        value = getattr(value, "source" if part == "from" else part, None)
    return value
