"""The toolkit of the builder: ``apt``, its distribution's, or ``system``, a directory that is only looked at.

Both read of the survey, in `Answers.builder`:

    cuda-prefix    the directory without links; empty where nothing is there
    cuda-release   what its nvcc says: ``12.4``
    cuda-nvcc      its build: ``12.4.131``

which is what ``look_cuda.py`` prints for a request with ``brief``, see `survey_request` and `surveyed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchbuild.errors import ConflictError
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Cuda
from torchbuild.toolchains.provider import Answers, Questions

__all__ = ["part", "questions", "survey_request", "surveyed"]

_USUAL = "/usr"
_MANY = 2
"""Numbers of a release that nvcc names."""


def questions(recipe: Recipe) -> Questions:
    """Nothing is asked of the world."""
    _prefix(_cuda(recipe))
    return Questions()


def survey_request(recipe: Recipe, scratch: str) -> dict[str, Any]:
    """What ``look_cuda.py`` is asked in the builder before there is a lock."""
    return {"prefix": _prefix(_cuda(recipe)), "scratch": scratch, "brief": True}


def surveyed(seen: Mapping[str, Any]) -> dict[str, str]:
    """Its answer, as `part` reads it."""
    nvcc = seen.get("nvcc", {})
    there = bool(nvcc.get("path"))
    return {
        "cuda-prefix": str(seen.get("real", "")) if there else "",
        "cuda-release": str(nvcc.get("release", "")),
        "cuda-nvcc": str(nvcc.get("build", "")),
    }


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """The directory, canonical: under one path no finder sees two toolkits.

    Raises:
        ConflictError: there is no toolkit, or one of another release.
    """
    cuda = _cuda(recipe)
    asked, found = _prefix(cuda), answers.builder
    prefix, release = found.get("cuda-prefix", ""), found.get("cuda-release", "")
    if not prefix or not release:
        raise ConflictError(
            "cuda-not-in-builder",
            f"the builder has no CUDA toolkit in {asked}",
            why=f"seen no {asked}/bin/nvcc that starts; wanted CUDA {cuda.version}",
            fix="Add nvidia-cuda-toolkit to the image's packages."
            if cuda.source == "apt"
            else "Correct cuda.path, or install the toolkit there.",
        )
    if release.split(".")[:_MANY] != cuda.version.split(".")[:_MANY]:
        raise ConflictError(
            "cuda-builder-differs",
            f"the builder's CUDA toolkit in {asked} is not of the recipe's release",
            why=f"seen {release} ({found.get('cuda-nvcc', '')}), wanted {cuda.version} (nvcc --version)",
            fix=f'Set cuda.version to "{release}", or take the toolkit from = "redist".',
        )
    build = found.get("cuda-nvcc", "")
    return LockedPart(
        name="cuda",
        provider=cuda.source,
        version=cuda.version,
        prefix=prefix,
        says={"nvcc": build} if build else {},
    )


def _cuda(recipe: Recipe) -> Cuda:
    if recipe.cuda is None:
        raise ValueError("a recipe without a toolkit was asked for one")
    return recipe.cuda


def _prefix(cuda: Cuda) -> str:
    if cuda.path is not None:
        return cuda.path.rstrip("/") or "/"
    if cuda.source == "apt":
        return _USUAL
    raise ValueError('cuda.from = "system" without a path: no rule refused it')
