"""What other machines cannot compile of a recipe, said before a build that asks for them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchbuild.knowledge.distribution import Stays, what_stays
from torchbuild.model.recipe import Recipe
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, passed, warned
from torchbuild.resolve.distribution import members

__all__ = ["pool_limits"]

_OPTIONS = {
    "native": re.compile(r"-m(?:arch|cpu|tune)=native\b"),
    "debug": re.compile(r"(?:^|\s)-g(?:[1-3]|gdb[0-3]?|dwarf\S*)?(?=\s|$)"),
    "lto": re.compile(r"(?:^|\s)-flto\b"),
    "option": re.compile(r"(?:^|\s)(?:--coverage|-fprofile\S*|-fplugin\S*)"),
}
_DEBUG_TYPES = {"Debug", "RelWithDebInfo"}


def pool_limits(case: Case) -> Iterator[Preflight]:
    """Each kind of compile that the recipe asks for and that stays on this machine."""
    recipe = case.recipe
    if recipe is None or recipe.machine.distribute is None:
        return
    words = set(_words(recipe))
    rows = [row for row in what_stays() if row.word in words]
    for row in rows:
        yield _stays(recipe, row)
    if not rows:
        slots = sum(member.slots for member in members(recipe.machine.distribute))
        what = f"what {recipe.machine.distribute.engine} may send to other machines"
        yield passed("pool-limits", what, seen=f"all C and C++ sources, {slots} at a time")


def _stays(recipe: Recipe, row: Stays) -> Preflight:
    engine = recipe.machine.distribute.engine if recipe.machine.distribute else ""
    whole = row.word in {"debug", "native", "lto"}
    return warned(
        "pool-limits",
        f"{row.what} are compiled here and never by {engine}'s machines: {row.why}",
        seen="the recipe asks for them" + (", for every source" if whole else ""),
        wanted=f"nothing of the kind, where all shall be sent ({row.source})",
        fix="Count with this machine's own cores and memory for them.",
        blames="recipe",
    )


def _words(recipe: Recipe) -> Iterator[str]:
    """The launcher's words for what the recipe asks for."""
    if recipe.cuda is not None:
        yield "nvcc"
    if recipe.build.type in _DEBUG_TYPES:
        yield "debug"
    texts = [str(value) for table in (recipe.build.env, recipe.build.cmake) for value in table.values()]
    for word, pattern in _OPTIONS.items():
        if any(pattern.search(text) for text in texts):
            yield word
