"""A wheel out of a workspace that people edit in carries that in its name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.model.recipe import Recipe
from torchbuild.resolve.dev import dev_recipe
from torchbuild.resolve.environment import wheel_version


@pytest.mark.parametrize(("local", "version"), [("", "1.0.0+dev"), ("cpu", "1.0.0+cpu.dev")])
def test_the_version_says_dev(load: Callable[..., Recipe], least: str, local: str, version: str) -> None:
    """Beside the recipe's own label; what is linked is all else that changes."""
    recipe = load(least + (f'local = "{local}"\n' if local else ""))
    made = dev_recipe(recipe)

    assert wheel_version(made) == version
    assert made.build.cmake == {"CMAKE_LINK_DEPENDS_NO_SHARED": True}
    assert made.model_copy(update={"wheel": recipe.wheel, "build": recipe.build}) == recipe
