"""The compiler cache of a recipe, against what is known to go wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.knowledge.compiler_caches import CachePair, possible_pairs
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, warned
from torchbuild.resolve.compiler_caches import cached_by_recipe

__all__ = ["cache_pair"]


def cache_pair(case: Case) -> Iterator[Preflight]:
    """What holds of every release of a cache is refused; of which release the builder has it, a lock sees."""
    recipe = case.recipe
    if recipe is None or recipe.toolchain.compiler_cache in ("none", "auto"):
        return
    cache, what = recipe.toolchain.compiler_cache, cached_by_recipe(recipe)
    for row in possible_pairs(cache, what):
        if row.versions and row.refuses:  # a doubt about some release is no news before one is known
            yield _told(row, f"{cache} {row.versions}, should the builder have it: {row.what}", is_sure=False)
        elif not row.versions:
            yield _told(row, f"{cache}: {row.what}", is_sure=row.refuses)


def _told(row: CachePair, what: str, *, is_sure: bool) -> Preflight:
    seen, wanted = "toolchain.compiler_cache", f"another pair ({row.source})"
    if is_sure:
        return failed("compiler-cache-pair", what, seen=seen, wanted=wanted, fix=row.fix, blames="recipe")
    return warned("compiler-cache-pair", what, seen=seen, wanted=wanted, fix=row.fix, blames="recipe")
