"""What a recipe may ask to be shown: checks that there are, at a level that runs them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from torchbuild.errors import Problem
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.problems import shown
from torchbuild.smoke.names import NAMES

__all__ = ["verify_problems"]

_LONGEST_NAME = 100


def verify_problems(recipe: Recipe) -> Iterator[Problem]:
    """Required checks that no wheel could pass: told while the recipe is read, not after an hour."""
    verify = recipe.verify
    is_asked = "require" in verify.model_fields_set  # level static has no use for the default
    if verify.level == "static" and is_asked and verify.require:
        wanted = "none: level static runs nothing; levels cpu and gpu run these checks"
        yield Problem(path="verify.require", seen=shown(verify.require), wanted=wanted)
    for index, name in enumerate(verify.require):
        if name not in NAMES:
            near = difflib.get_close_matches(name[:_LONGEST_NAME], NAMES, n=1)
            yield Problem(
                path=f"verify.require[{index}]",
                seen=shown(name),
                wanted=f"one of {', '.join(NAMES)}",
                suggestion=near[0] if near else "",
            )
