"""NCCL out of NVIDIA's binary archive, which a table names, or out of one that the recipe names."""

from __future__ import annotations

from torchbuild.errors import ConflictError
from torchbuild.knowledge.nccl_tarballs import NcclTarball, nccl_tarballs
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Library
from torchbuild.toolchains.provider import Answers, Question, Questions

__all__ = ["part", "questions"]

_BELOW = "nvidia:compute/redist/nccl/"


def questions(recipe: Recipe) -> Questions:
    """The archive. The publisher names no digest: without one of the recipe it is trusted on first use.

    Raises:
        ConflictError: ``nccl-tarball-unknown``.
    """
    return Questions(files=(Question(locator=_locator(recipe), sha256=_nccl(recipe).sha256 or ""),))


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """NCCL, by its digest.

    Raises:
        ConflictError: ``nccl-tarball-unknown``.
    """
    nccl = _nccl(recipe)
    return LockedPart(
        name="nccl",
        provider="tarball",
        version=nccl.version or "",
        prefix=prefix_of("nccl"),
        pieces=(LockedPiece(artifact=answers.files[_locator(recipe)], strip=1),),
        says={} if nccl.archive is not None else {"cuda": _chosen(recipe).cuda},
    )


def _nccl(recipe: Recipe) -> Library:
    return recipe.nccl or Library()


def _locator(recipe: Recipe) -> str:
    return _nccl(recipe).archive or _BELOW + _chosen(recipe).path


def _chosen(recipe: Recipe) -> NcclTarball:
    """The archive for the recipe's CUDA: the same major is enough, the nearest not above it is best."""
    version, machine = _nccl(recipe).version, recipe.target.machine
    cuda = _numbers(recipe.cuda.version if recipe.cuda is not None else "")
    fitting = [
        row
        for row in nccl_tarballs()
        if row.version == version and row.machine == machine and _numbers(row.cuda)[:1] == cuda[:1]
    ]
    if not fitting:
        raise _unknown(recipe)
    not_above = [row for row in fitting if _numbers(row.cuda) <= cuda]
    return max(not_above, key=_built_with) if not_above else min(fitting, key=_built_with)


def _built_with(row: NcclTarball) -> tuple[int, ...]:
    return _numbers(row.cuda)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdecimal())[:2]


def _unknown(recipe: Recipe) -> ConflictError:
    version, machine = _nccl(recipe).version, recipe.target.machine
    rows = [row for row in nccl_tarballs() if row.machine == machine]
    same = [row for row in rows if row.version == version]
    known = ", ".join(f"{row.version} for CUDA {row.cuda}" for row in same or rows)
    cuda = recipe.cuda.version if recipe.cuda is not None else "none"
    return ConflictError(
        "nccl-tarball-unknown",
        f"no archive of NCCL {version or 'of no version'} for CUDA {cuda} on {machine} is known",
        why=(
            f"known for {machine}: {known or 'none'}",
            "their names follow from no rule, so they come from a table (knowledge/data/nccl_tarballs.toml)",
        ),
        fix='Name one of these, or the archive in nccl.archive, or take nccl.from = "wheels".',
    )
