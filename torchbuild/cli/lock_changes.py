"""What is different between two locks, or between a lock and a recipe, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchbuild.errors import TorchbuildError
from torchbuild.knowledge.tables import option_facts
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import Answers, Survey, lock_of

__all__ = ["changes", "recipe_changes"]

_MOST = 12
_DERIVED = ("recipe", "expect")
"""Follow from the rest."""


def changes(before: Lock, after: Lock) -> tuple[str, ...]:
    """Each value that differs, ``dotted.path: before -> after``; the first twelve."""
    old, new = dict(_flat(_values(before), "")), dict(_flat(_values(after), ""))
    lines = [
        f"{path}: {old.get(path, 'nothing')} -> {new.get(path, 'nothing')}"
        for path in dict.fromkeys((*old, *new))
        if old.get(path) != new.get(path)
    ]
    more = (f"and {len(lines) - _MOST} more",) if len(lines) > _MOST else ()
    return (*lines[:_MOST], *more)


def recipe_changes(lock: Lock, recipe: Recipe) -> tuple[str, ...]:
    """What the recipe asks for now and the lock does not hold, as far as nobody else need be asked."""
    return (*_asked(lock, recipe), *changes(lock, _predicted(lock, recipe)))


def _asked(lock: Lock, recipe: Recipe) -> Iterator[str]:
    """Wishes whose answer must be looked up; the lock keeps the wish for some of them."""
    source = recipe.source
    for path, old, new in (
        ("source.git", lock.source.url, source.git or ""),
        ("source.ref", lock.source.ref, source.ref or ""),
        ("image.name", lock.image.name if lock.image else "", recipe.image.name if recipe.image else ""),
    ):
        if old != new:
            yield f"{path}: {old or 'nothing'} -> {new or 'nothing'}"
    version = recipe.python.version
    if version is not None and not f"{lock.python.version}.".startswith(f"{version}."):
        yield f"python.version: {lock.python.version} -> {version}"


def _predicted(lock: Lock, recipe: Recipe) -> Lock:
    """The lock of the recipe, had the world nothing new to say; the old one where that makes no sense."""
    try:
        made = lock_of(
            recipe,
            Answers(
                source=lock.source,
                epoch=lock.epoch,
                era=lock.era,
                image=lock.image,
                survey=Survey(
                    python=lock.python,
                    glibc=lock.glibc,
                    cc=lock.cc,
                    cxx=lock.cxx,
                    compiler=lock.compiler,
                    compiler_c=lock.compiler_c or "",
                    launcher="" if lock.compiler_cache == "none" else lock.compiler_cache,
                ),
                build_requires=lock.build_requires,
                run_requires=lock.run_requires,
                verify_requires=lock.verify_requires,
                builder=lock.builder,
            ),
        )
    except TorchbuildError:
        return lock
    # what only the tree's own files tell, and those are not here
    found = {item.name for item in option_facts().found}
    kept = {name: value for name, value in lock.environ.items() if name in found and value == "OFF"}
    return made.model_copy(update={"environ": kept | made.environ, "unpinned": lock.unpinned})


def _values(lock: Lock) -> dict[str, Any]:
    values = lock.model_dump(mode="json", by_alias=True)
    return {key: value for key, value in values.items() if key not in _DERIVED}


def _flat(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Each value by its dotted path. Files go by their names, so that a new one shifts no others."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _flat(item, f"{path}[{_label(item, number)}]")
    elif value is not None:
        yield path, str(value)


def _label(item: object, number: int) -> object:
    if isinstance(item, dict):
        named = item.get("locator") or item.get("path") or item.get("name") or item.get("to")
        if named:
            return str(named).partition("/")[0] if str(named).startswith("pypi:") else named
    return number
