"""The CUDA toolkit out of NVIDIA's archives, one a component, merged into one prefix."""

from __future__ import annotations

from torchbuild.errors import ConflictError
from torchbuild.knowledge.redist import ComponentFact, cuda_components, redist_product
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.provider import Answers, Questions
from torchbuild.toolchains.redist_document import (
    Archive,
    RedistDocument,
    document_locator,
    full_release,
    platform_of,
    read_document,
)

__all__ = ["part", "questions"]

_PROGRAMS = {
    "cicc": ("libnvvm", "cuda_nvcc"),
    "cudafe++": ("cuda_nvcc",),
    "fatbinary": ("cuda_nvcc",),
    "nvcc": ("cuda_nvcc",),
    "nvlink": ("cuda_nvcc",),
    "ptxas": ("cuda_nvcc",),
}
"""Which component brings a program; from 13 on cicc is in one of its own."""


def questions(recipe: Recipe) -> Questions:
    """The document of the release.

    Raises:
        ConflictError: ``redist-release-incomplete``, ``redist-release-unknown``.
    """
    return Questions(documents=(document_locator(redist_product("cuda"), _release(recipe)),))


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """The components that a build needs, each by the publisher's digest.

    Raises:
        ConflictError: ``redist-release-incomplete``, ``redist-release-unknown``,
            ``redist-component-missing``, ``redist-variant-missing``.
        FetchError: ``redist-document-invalid``.
    """
    release = _release(recipe)
    locator = document_locator(redist_product("cuda"), release)
    document = read_document(locator, answers.documents[locator], release)
    found = [_archive(document, fact, recipe.target.machine) for fact in cuda_components(release)]
    archives = [archive for archive in found if archive is not None]
    return LockedPart(
        name="cuda",
        provider="redist",
        version=release,
        prefix=prefix_of("cuda"),
        pieces=tuple(LockedPiece(artifact=archive.artifact, strip=1) for archive in archives),
        says=_says({archive.component: archive.version for archive in archives}),
    )


def _says(versions: dict[str, str]) -> dict[str, str]:
    """What each program must say it is; those of a component have its number."""
    found = {
        program: next((versions[name] for name in names if name in versions), "")
        for program, names in _PROGRAMS.items()
    }
    return {program: version for program, version in sorted(found.items()) if version}


def _release(recipe: Recipe) -> str:
    """The release, which must be one of those that the table of components speaks of."""
    version = recipe.cuda.version if recipe.cuda is not None else None
    fact = redist_product("cuda")
    release = full_release(fact, "cuda.version", version)
    if not any(item.name == "cuda_nvcc" for item in cuda_components(release)):
        raise ConflictError(
            "redist-release-unknown",
            f"cuda.version = {version!r} is older than the archives that this version knows",
            why=(f"known: {', '.join(fact.releases)}, and others from the first on ({fact.source})",),
            fix='Name one of these, or another provider, such as cuda.from = "runfile".',
        )
    return release


def _archive(document: RedistDocument, fact: ComponentFact, machine: str) -> Archive | None:
    archive = document.archive(fact.name, machine)
    if archive is None and not fact.is_optional:
        raise ConflictError(
            "redist-component-missing",
            f"{document.locator}: no {fact.name} for {platform_of(machine)}",
            why=(
                f"seen: {fact.name} for {document.platforms(fact.name)}",
                f"wanted: {fact.why} ({fact.source})",
            ),
            fix='Name a release that has it, or another provider, such as cuda.from = "runfile".',
        )
    return archive
