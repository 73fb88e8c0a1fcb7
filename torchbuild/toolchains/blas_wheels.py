"""BLAS from the Python index: MKL, as shared libraries or as what goes into the wheel."""

from __future__ import annotations

from torchbuild.knowledge.blas_facts import BlasWheel, blas_wheels
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.blas_choice import is_static, mkl_libraries, openmp_of, refuse_contradictions
from torchbuild.toolchains.blas_pieces import requirements, wheels_part
from torchbuild.toolchains.provider import Answers, Questions

__all__ = ["part", "questions"]


def questions(recipe: Recipe) -> Questions:
    """The wheels of the recipe's BLAS, of one version."""
    refuse_contradictions(recipe)
    return Questions(wheels=requirements(_rows(recipe), _version(recipe)))


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """Libraries and headers in a prefix of our own; `says` tells which layers, and how they are linked."""
    refuse_contradictions(recipe)
    says = {
        "blas": recipe.blas.provider if recipe.blas is not None else "",
        "libraries": " ".join(mkl_libraries(openmp_of(recipe))),
        "linkage": _linkage(recipe),
    }
    return wheels_part("blas", _rows(recipe), answers.wheels, _version(recipe), says)


def _linkage(recipe: Recipe) -> str:
    return "static" if is_static(recipe) else "shared"


def _rows(recipe: Recipe) -> tuple[BlasWheel, ...]:
    rows = blas_wheels("blas", recipe.blas.provider) if recipe.blas is not None else ()
    return tuple(row for row in rows if row.linkage in ("", _linkage(recipe)))


def _version(recipe: Recipe) -> str | None:
    return recipe.blas.version if recipe.blas is not None else None
