"""BLAS of the builder: its own, or one in a prefix that the recipe names. Only looked at."""

from __future__ import annotations

from posixpath import normpath

from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.blas_choice import is_static, library_words, refuse_contradictions
from torchbuild.toolchains.provider import Answers, Questions

__all__ = ["part", "questions"]


def questions(recipe: Recipe) -> Questions:
    """Nothing is asked: what is there is looked at inside the builder."""
    refuse_contradictions(recipe)
    return Questions()


def part(recipe: Recipe, answers: Answers) -> LockedPart:  # noqa: ARG001  the contract's
    """Where it is; `says` tells what it must be."""
    refuse_contradictions(recipe)
    blas = recipe.blas
    source = blas.source if blas is not None else "system"
    path = blas.path if blas is not None and source == "path" and blas.path else "/usr"
    says = {
        "blas": blas.provider if blas is not None else "",
        "libraries": " ".join(library_words(recipe)),
        "linkage": "static" if is_static(recipe) else "shared",
    }
    version = blas.version or "" if blas is not None else ""
    return LockedPart(name="blas", provider=source, version=version, prefix=normpath(path), says=says)
