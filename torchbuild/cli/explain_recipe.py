"""``torchbuild explain RECIPE``: why each line of a recipe and of its lock is what it is."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchbuild.advice.answer import Advice
from torchbuild.advice.of_recipe import has_wish, wish_of
from torchbuild.advice.said import cited_line, conflicts_lines
from torchbuild.advice.solve import solve
from torchbuild.cli.recipe_files import load_recipe_file, lock_path, public, read_lock
from torchbuild.errors import LockError
from torchbuild.knowledge.fact import overlay
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.report.text import printable
from torchbuild.resolve.explained import Explained, lock_lines, recipe_lines

__all__ = ["RecipeExplanation", "explain_recipe", "is_recipe"]

_LARGEST = 1_000_000


def is_recipe(path: Path) -> bool:
    """Whether a file is meant to be a recipe; what is in it may still be wrong."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return False
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    is_lock = "recipe" in table or "build_requires" in table
    return (
        "schema" in table
        and "name" in table
        and not is_lock
        and bool(table.keys() & {"wheel", "extends", "source"})
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeExplanation:
    """A recipe with all that is known of its lines."""

    path: Path
    """The file."""
    recipe: Recipe
    """What is in it, merged."""
    lines: tuple[Explained, ...]
    """Of the recipe."""
    advice: Advice | None
    """What the facts say; None where they do not speak of it."""
    lock: Lock | None
    """The lock beside it; None where there is none that is its lock."""
    lock_file: Path
    """Where that is, or would be."""
    lock_state: str
    """``fresh``, or why there is no lock to explain."""
    own_facts: tuple[str, ...] = ()
    """Rows of the user's own facts, which speak here in the place of ours."""

    def json(self) -> dict[str, Any]:
        """For a program."""
        advice, lock = self.advice, self.lock
        locked = lock_lines(lock, str(self.lock_file)) if lock is not None else ()
        return {
            "taken_as": "path",
            "name": str(self.path),
            "what": f"a recipe, called {self.recipe.name}",
            "lines": [line.model_dump(mode="json") for line in (*self.lines, *locked)],
            "conflicts": [item.model_dump(mode="json") for item in advice.conflicts] if advice else [],
            "ways": [item.what for item in advice.ways] if advice else [],
            "notes": list(advice.notes) if advice else [],
            "unconfirmed": [cited_line(fact) for fact in advice.unconfirmed] if advice else [],
            "lock": {"file": str(self.lock_file), "state": self.lock_state},
            "unpinned": list(lock.unpinned) if lock is not None else [],
            "facts": list(lock.facts) if lock is not None else [],
            "own_facts": list(self.own_facts),
            "also": [],
        }

    def text(self) -> Iterator[str]:
        """For a person; defaults come last, in one line each."""
        yield f"recipe {printable(self.recipe.name)} ({self.path})"
        yield from _list("facts of yours", self.own_facts)
        yield from self._advice()
        yield from _block("lines", [line for line in self.lines if line.origin != "default"])
        if self.lock is not None:
            yield from _block(f"lock {self.lock_file}", lock_lines(self.lock, ""))
            yield from _list("not pinned", self.lock.unpinned)
            yield from _list("facts of the user's overlay", self.lock.facts)
        else:
            yield f"lock: {self.lock_state}"
        yield from _list("defaults", [f"{i.key} = {i.value}" for i in self.lines if i.origin == "default"])

    def _advice(self) -> Iterator[str]:
        advice = self.advice
        if advice is None:
            yield "the facts speak of torch alone: they do not weigh this recipe"
            return
        yield from _list("cannot work", list(conflicts_lines(advice.conflicts)))
        yield from _list("could work with", [way.what for way in advice.ways])
        yield from _list("notes", advice.notes)
        yield from _list("unconfirmed", [cited_line(fact) for fact in advice.unconfirmed])


def explain_recipe(
    path: Path,
    *,
    overrides: tuple[str, ...] = (),
    lock: Path | None = None,
    allowed: tuple[Path, ...] = (),
    is_dev: bool = False,
) -> RecipeExplanation:
    """Read a recipe and the lock beside it, and ask the facts.

    Args:
        path: the recipe.
        overrides: ``dotted.key=value`` of the command line.
        lock: its lock; default: the one beside it.
        allowed: further folders that the recipe's paths may lie in.
        is_dev: as ``build --dev`` builds it.

    Raises:
        RecipeError: it is none.
    """
    loaded = load_recipe_file(path, overrides=overrides, allowed=allowed, is_dev=is_dev)
    recipe = public(loaded.recipe)
    advice = solve(wish_of(recipe)) if has_wish(recipe) else None
    file = lock or lock_path(path, is_dev=is_dev)
    try:
        made, state = read_lock(file, recipe, path.absolute().parent), "fresh"
    except LockError as error:
        made, state = None, f"{error.what} [{error.reference}]"
    loaded = loaded._replace(recipe=recipe)
    first = os.path.normpath(path.absolute())
    return RecipeExplanation(
        path=path,
        recipe=recipe,
        lines=recipe_lines(loaded, first=first),
        advice=advice,
        lock=made,
        lock_file=file,
        lock_state=state,
        own_facts=overlay().lines(),
    )


def _block(title: str, lines: Any) -> Iterator[str]:  # noqa: ANN401  any sequence of lines
    yield f"{title}:"
    width = max((len(line.key) for line in lines), default=0)
    for line in lines:
        yield f"  {printable(line.key):{width}}  {printable(line.value)}  {printable(_from(line))}".rstrip()
        yield from (f"      {printable(fact)}" for fact in line.facts)


def _from(line: Explained) -> str:
    where = line.where.rpartition("/")[2]
    origin = line.origin if line.origin not in ("recipe", "lock", where) else ""
    told = " ".join(filter(None, (origin, where)))
    return ": ".join(filter(None, (told, line.why)))


def _list(title: str, items: Any) -> Iterator[str]:  # noqa: ANN401  any sequence of texts
    if items:
        yield f"{title}:"
        yield from (f"  {printable(item)}" for item in items)
