"""An OpenMP runtime from the Python index: Intel's."""

from __future__ import annotations

from torchbuild.knowledge.blas_facts import BlasWheel, blas_wheels
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.blas_choice import openmp_of, refuse_contradictions
from torchbuild.toolchains.blas_pieces import requirements, wheels_part
from torchbuild.toolchains.provider import Answers, Questions

__all__ = ["part", "questions"]


def questions(recipe: Recipe) -> Questions:
    """The wheel of the recipe's runtime."""
    refuse_contradictions(recipe)
    return Questions(wheels=requirements(_rows(recipe), _version(recipe)))


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """The runtime in a prefix of our own."""
    refuse_contradictions(recipe)
    says = {"openmp": openmp_of(recipe)}
    return wheels_part("openmp", _rows(recipe), answers.wheels, _version(recipe), says)


def _rows(recipe: Recipe) -> tuple[BlasWheel, ...]:
    return blas_wheels("openmp", openmp_of(recipe))


def _version(recipe: Recipe) -> str | None:
    return recipe.openmp.version if recipe.openmp is not None else None
