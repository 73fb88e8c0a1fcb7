"""A recipe as it is built in a workspace that people edit in: its wheel says so."""

from __future__ import annotations

from torchbuild.model.recipe import Recipe

__all__ = ["dev_recipe"]

LABEL = "dev"


def dev_recipe(recipe: Recipe) -> Recipe:
    """The recipe with ``dev`` in the wheel's local version label: nobody takes that wheel for a clean one."""
    local = f"{recipe.wheel.local}.{LABEL}" if recipe.wheel.local else LABEL
    return recipe.model_copy(update={"wheel": recipe.wheel.model_copy(update={"local": local})})
