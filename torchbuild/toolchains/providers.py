"""Who provides what: each part of a recipe with the module that knows how to come by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from torchbuild.model.part import LockedPart, PartName
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import (
    blas_builder,
    blas_wheels,
    cuda_builder,
    cuda_redist,
    cuda_runfile,
    cuda_wheels,
    library_builder,
    library_redist,
    library_wheels,
    magma_tarball,
    nccl_source,
    nccl_tarball,
    openmp_builder,
    openmp_wheels,
)
from torchbuild.toolchains.library_redist import RedistLibrary
from torchbuild.toolchains.provider import Answers, Provider, Questions
from torchbuild.toolchains.wished import LIBRARIES

__all__ = ["providers_of"]

_OF_THE_TREE = "bundled"
"""What the tree brings is known only once its late sources are."""


@dataclass(frozen=True, slots=True)
class _Redist:
    """One library out of NVIDIA's archives."""

    name: RedistLibrary

    def questions(self, recipe: Recipe) -> Questions:
        """What to ask."""
        return library_redist.questions(recipe, self.name)

    def part(self, recipe: Recipe, answers: Answers) -> LockedPart:
        """The part, exactly."""
        return library_redist.part(recipe, answers, self.name)


_CUDA: Mapping[str, Provider] = MappingProxyType(
    {
        "apt": cuda_builder,
        "redist": cuda_redist,
        "runfile": cuda_runfile,
        "system": cuda_builder,
        "wheels": cuda_wheels,
    }
)
_TARBALLS: Mapping[str, Provider] = MappingProxyType(
    {
        "nccl": nccl_tarball,
        "cudnn": _Redist("cudnn"),
        "cusparselt": _Redist("cusparselt"),
        "nvshmem": _Redist("nvshmem"),
        "magma": magma_tarball,
    }
)


def providers_of(recipe: Recipe) -> dict[PartName, Provider]:
    """The provider of each part of a recipe, in the order of laying; a bundled library is left out.

    A BLAS of the builder's own is none: it is its distribution's, and the gate compares what was found.
    """
    found: dict[PartName, Provider] = {}
    if recipe.cuda is not None:
        found["cuda"] = _CUDA[recipe.cuda.source]
    for name in LIBRARIES:
        library = getattr(recipe, name)
        if library is not None and library.source != _OF_THE_TREE:
            found[name] = _library(name, library.source)
    if recipe.openmp is not None:
        found["openmp"] = openmp_wheels if recipe.openmp.source == "wheels" else openmp_builder
    if recipe.blas is not None and recipe.blas.source != "system":
        found["blas"] = blas_wheels if recipe.blas.source == "wheels" else blas_builder
    return found


def _library(name: PartName, source: str) -> Provider:
    if source == "system":
        return library_builder.SYSTEM[name]
    if source == "source":
        return nccl_source
    return (library_wheels.PROVIDERS if source == "wheels" else _TARBALLS)[name]
