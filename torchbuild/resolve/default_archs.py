"""The default of ``cuda.archs``: what the target's GPUs need, by the facts.

This is the one place. A recipe is settled as soon as it is loaded, so that everything later, digest and
lock included, sees the architectures as if somebody had written them. Two things follow. A list that is
written out and one that is derived give the same lock where they are the same list: there is no difference
to be lost. And where new facts, or another overlay, change what is derived, the recipe's digest changes with
it: its lock is then stale, and says what changed, instead of silently meaning another wheel.

Where the facts allow nothing the list stays empty. `torchbuild.resolve.weighed` refuses such a recipe when it
is locked; until then it can be loaded, looked at and explained.
"""

from __future__ import annotations

from torchbuild.advice.of_recipe import has_wish, wish_of
from torchbuild.model.recipe import Recipe

__all__ = ["derives_archs", "with_default_archs"]


def derives_archs(recipe: Recipe) -> bool:
    """Whether the recipe leaves its architectures to the facts."""
    cuda = recipe.cuda
    return cuda is not None and not cuda.archs and bool(recipe.target.gpus) and has_wish(recipe)


def with_default_archs(recipe: Recipe) -> Recipe:
    """The recipe with the architectures that it leaves to the facts; as it is where they allow none."""
    if recipe.cuda is None or not derives_archs(recipe):
        return recipe
    from torchbuild.advice.solve import solve  # noqa: PLC0415  who names the list does without all the facts

    archs = tuple(solve(wish_of(recipe)).value("cuda.archs").replace(" ", "").split(","))
    if archs == ("",):
        return recipe
    return recipe.model_copy(update={"cuda": recipe.cuda.model_copy(update={"archs": archs})})
