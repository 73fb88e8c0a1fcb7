"""The toolkit from wheels of the Python index, every part of one release."""

from __future__ import annotations

from packaging.utils import parse_wheel_filename

from torchbuild.errors import ConflictError
from torchbuild.knowledge.cuda_facts import CudaWheels, cuda_wheels, newest_of, without_nvcc
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Cuda
from torchbuild.toolchains.provider import Answers, Questions

__all__ = ["part", "questions"]

_SAYS = {
    "cicc": "nvidia-nvvm",
    "cudafe++": "nvidia-cuda-nvcc",
    "fatbinary": "nvidia-cuda-nvcc",
    "nvcc": "nvidia-cuda-nvcc",
    "nvlink": "nvidia-cuda-nvcc",
    "ptxas": "nvidia-cuda-nvcc",
}
"""The program, and the wheel that it is in: each must say the number of its wheel."""


def questions(recipe: Recipe) -> Questions:
    """Ask for every wheel of the release, exactly.

    Raises:
        ConflictError: its wheels are no toolkit, or nobody knows them.
    """
    row = _row(recipe)
    return Questions(wheels=tuple(f"{name}=={version}" for name, version in sorted(row.wheels.items())))


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """All of them, merged into one prefix."""
    row = _row(recipe)
    pieces = tuple(LockedPiece(artifact=wheel, only=row.folder) for wheel in answers.wheels)
    names = {str(parse_wheel_filename(wheel.name)[0]) for wheel in answers.wheels}
    if names != set(row.wheels):
        raise ValueError(f"asked for {sorted(row.wheels)}, told of {sorted(names)}")
    return LockedPart(
        name="cuda",
        provider="wheels",
        version=row.version,
        prefix=prefix_of("cuda"),
        pieces=pieces,
        says={program: row.wheels[wheel] for program, wheel in _SAYS.items()},
    )


def _row(recipe: Recipe) -> CudaWheels:
    cuda = recipe.cuda
    if cuda is None:
        raise ValueError("a recipe without a toolkit was asked for one")
    row = newest_of(cuda.version)
    if row is None:
        raise _refused(cuda)
    if recipe.target.machine not in row.machines:
        raise ConflictError(
            "cuda-wheels-machine",
            f"the wheels of CUDA {row.version} are not made for {recipe.target.machine}",
            why=(f"seen {', '.join(row.machines)}; wanted {recipe.target.machine}", row.source),
            fix='Set from = "redist" in [cuda].',
        )
    return row


def _refused(cuda: Cuda) -> ConflictError:
    known = [row.version for row in cuda_wheels()]
    lacks = without_nvcc(cuda.version)
    if lacks is not None:
        return ConflictError(
            "cuda-wheels-without-nvcc",
            f"the Python index has no compiler of CUDA {cuda.version}",
            why=(
                f"seen: the wheel named like it holds {', '.join(lacks.has)} ({lacks.source})",
                "wanted: nvcc, cicc, cudafe++, fatbinary, nvlink and ptxas",
                f"wheels are a whole toolkit from {known[0]} to {known[-1]}",
            ),
            fix='Set from = "redist", "runfile", "apt" or "system" in [cuda].',
        )
    return ConflictError(
        "cuda-wheels-unknown",
        f"nobody has read which wheels CUDA {cuda.version} is made of",
        why=(
            f"seen cuda.version = {cuda.version}",
            f"wanted one of {', '.join(known)} (knowledge/data/cuda_wheels.toml)",
        ),
        fix='Choose one of these, or set from = "redist" in [cuda].',
    )
