"""What a recipe wants of the facts: its tables as a wish."""

from __future__ import annotations

import re

from torchbuild.advice.wish import Wish
from torchbuild.knowledge.distributions import distributions
from torchbuild.model.driver import parse_driver
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Library

__all__ = ["WISH_KEYS", "builder_glibc", "gcc_of", "has_wish", "lowest_driver", "wish_of"]

WISH_KEYS = {
    "wheel.version": "torch",
    "target.gpus": "gpus",
    "target.driver": "driver",
    "target.kernel_modules": "modules",
    "target.forward_compat": "forward_compat",
    "target.machine": "machine",
    "target.glibc": "glibc",
    "python.version": "python",
    "cuda.version": "cuda",
    "cuda.archs": "archs",
    "cudnn.version": "cudnn",
    "nccl.version": "nccl",
    "toolchain.cxx": "gcc",
}
"""Keys of a recipe that are wishes, with the field of the wish: of the rest no fact decides."""

_GCC = re.compile(r"(?:.*/)?(?:[a-z0-9_]+-)*g(?:cc|\+\+)-(?P<version>[0-9]+(?:\.[0-9]+)*)")
"""A compiler whose name says its version: ``g++-12``, ``x86_64-linux-gnu-gcc-13``."""
_PACKAGED = ("apt", "system")
"""Where a toolkit comes from that somebody fitted to the builder's own headers."""


def has_wish(recipe: Recipe) -> bool:
    """Whether the facts speak of this recipe: they know torch, and no other package."""
    return recipe.wheel.package == "torch"


def wish_of(recipe: Recipe) -> Wish:
    """The wish of a recipe that its rules have seen. What it leaves open is empty.

    A recipe without ``[cuda]`` wants a wheel for the CPU, whatever GPUs its target has. A toolkit that comes
    with the builder was fitted to the builder's headers by who packaged it: they are then not weighed.
    """
    target, cuda = recipe.target, recipe.cuda
    common = {
        "torch": recipe.wheel.version,
        "machine": target.machine,
        "glibc": target.glibc or "",
        "python": recipe.python.version or "",
        "gcc": gcc_of(recipe.toolchain.cxx) or gcc_of(recipe.toolchain.cc),
    }
    if cuda is None:
        return Wish.model_validate(common)
    return Wish.model_validate(
        common
        | {
            "gpus": target.gpus,
            "driver": lowest_driver(target.driver),
            "modules": target.kernel_modules or "",
            "forward_compat": target.forward_compat,
            "cuda": cuda.version,
            "archs": cuda.archs,
            "cudnn": _release(recipe.cudnn),
            "nccl": _release(recipe.nccl),
            "builder_glibc": "" if cuda.source in _PACKAGED else builder_glibc(recipe),
        }
    )


def lowest_driver(text: str | None) -> str:
    """The oldest driver that ``target.driver`` means; empty where it names none.

    Raises:
        ValueError: it is none, which the recipe's rules refuse.
    """
    return parse_driver(text).lowest if text else ""


def builder_glibc(recipe: Recipe) -> str:
    """The C library of the suite that the builder image is made from; empty where nobody knows."""
    suite = recipe.image.suite if recipe.image is not None else None
    if suite is None:
        return ""
    return next((row.glibc for row in distributions() if row.suite == suite), "")


def gcc_of(program: str) -> str:
    """The version that a gcc's name says, such as ``12`` of ``g++-12``; empty where it says none."""
    found = _GCC.fullmatch(program)
    return found["version"] if found else ""


def _release(library: Library | None) -> str:
    """A library without a table is off; one without a release is somebody else's to choose."""
    return "none" if library is None else library.version or ""
