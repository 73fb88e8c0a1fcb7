"""A recipe as it is built in a workspace that people edit in: its wheel says so."""

from __future__ import annotations

from torchbuild.model.recipe import Recipe

__all__ = ["dev_recipe"]

LABEL = "dev"
LINKING = "CMAKE_LINK_DEPENDS_NO_SHARED"
"""A shared library that was linked anew is no reason to link again all that use it."""


def dev_recipe(recipe: Recipe) -> Recipe:
    """The recipe with ``dev`` in the wheel's local version label: nobody takes that wheel for a clean one."""
    local = f"{recipe.wheel.local}.{LABEL}" if recipe.wheel.local else LABEL
    wheel = recipe.wheel.model_copy(update={"local": local})
    build = recipe.build.model_copy(update={"cmake": {LINKING: True, **recipe.build.cmake}})
    return recipe.model_copy(update={"wheel": wheel, "build": build})
