"""The OpenMP runtime of the compiler, or one in a prefix that the recipe names; or none. Only looked at."""

from __future__ import annotations

from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.blas_choice import openmp_of, refuse_contradictions
from torchbuild.toolchains.blas_pieces import builder_part
from torchbuild.toolchains.provider import Answers, Questions

__all__ = ["part", "questions"]


def questions(recipe: Recipe) -> Questions:
    """Nothing is asked: what is there is looked at inside the builder."""
    refuse_contradictions(recipe)
    return Questions()


def part(recipe: Recipe, answers: Answers) -> LockedPart:  # noqa: ARG001  the contract's
    """Where it is; `says` tells which one it must be."""
    refuse_contradictions(recipe)
    return builder_part("openmp", recipe.openmp, {"openmp": openmp_of(recipe)})
