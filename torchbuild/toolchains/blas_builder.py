"""BLAS of the builder: its own, or one in a prefix that the recipe names. Only looked at."""

from __future__ import annotations

from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.blas_choice import is_static, library_words, refuse_contradictions
from torchbuild.toolchains.blas_pieces import builder_part
from torchbuild.toolchains.provider import Answers, Questions

__all__ = ["part", "questions"]


def questions(recipe: Recipe) -> Questions:
    """Nothing is asked: what is there is looked at inside the builder."""
    refuse_contradictions(recipe)
    return Questions()


def part(recipe: Recipe, answers: Answers) -> LockedPart:  # noqa: ARG001  the contract's
    """Where it is; `says` tells what it must be."""
    refuse_contradictions(recipe)
    says = {
        "blas": recipe.blas.provider if recipe.blas is not None else "",
        "libraries": " ".join(library_words(recipe)),
        "linkage": "static" if is_static(recipe) else "shared",
    }
    return builder_part("blas", recipe.blas, says)
