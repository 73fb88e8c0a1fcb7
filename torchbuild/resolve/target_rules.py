"""What the table [target] must be beyond types."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.errors import Problem
from torchbuild.model.driver import DRIVER_WORDS, parse_driver
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.problems import shown

__all__ = ["target_problems"]

_LONGEST = 100


def target_problems(recipe: Recipe) -> Iterator[Problem]:
    """What is wrong with what the wheel is to run on, whatever the facts say."""
    target = recipe.target
    if target.driver is not None:
        try:
            parse_driver(target.driver)
        except ValueError:
            yield Problem(path="target.driver", seen=shown(target.driver), wanted=DRIVER_WORDS)
    for index, name in enumerate(target.gpus):
        path = f"target.gpus[{index}]"
        if not name.strip() or len(name) > _LONGEST or not name.isprintable():
            wanted = "a product such as GTX 1080 Ti, or an architecture such as sm_61"
            yield Problem(path=path, seen=shown(name), wanted=wanted)
        elif name in target.gpus[:index]:
            yield Problem(path=path, seen=shown(name), wanted="each once")
