"""The OpenMP runtime of the compiler, or one in a prefix that the recipe names; or none. Only looked at."""

from __future__ import annotations

from posixpath import normpath

from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.blas_choice import openmp_of, refuse_contradictions
from torchbuild.toolchains.provider import Answers, Questions

__all__ = ["part", "questions"]


def questions(recipe: Recipe) -> Questions:
    """Nothing is asked: what is there is looked at inside the builder."""
    refuse_contradictions(recipe)
    return Questions()


def part(recipe: Recipe, answers: Answers) -> LockedPart:  # noqa: ARG001  the contract's
    """Where it is; `says` tells which one it must be."""
    refuse_contradictions(recipe)
    openmp = recipe.openmp
    source = openmp.source if openmp is not None else "system"
    path = openmp.path if openmp is not None and source == "path" and openmp.path else "/usr"
    version = openmp.version or "" if openmp is not None else ""
    return LockedPart(
        name="openmp",
        provider=source,
        version=version,
        prefix=normpath(path),
        says={"openmp": openmp_of(recipe)},
    )
