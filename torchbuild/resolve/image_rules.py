"""Keys of the table [image] that go together."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.errors import Problem
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.problems import shown

__all__ = ["image_problems"]


def image_problems(recipe: Recipe) -> Iterator[Problem]:
    """What is wrong with an image that is to be made of packages."""
    image = recipe.image
    if image is None:
        return
    if image.suite is None:
        if image.packages:
            wanted = "the suite that image.packages come from, such as trixie"
            yield Problem(path="image.suite", seen="nothing", wanted=wanted)
        return
    if not image.components:
        yield Problem(path="image.components", seen="[]", wanted="at least one, such as main")
    if "@" in image.name:
        wanted = "a name without a digest: the image is made here, and the lock pins it"
        yield Problem(path="image.name", seen=shown(image.name), wanted=wanted)
