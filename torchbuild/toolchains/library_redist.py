"""cuDNN, cuSPARSELt and NVSHMEM out of NVIDIA's archives, or out of one that the recipe names."""

from __future__ import annotations

from typing import Literal

from torchbuild.errors import ConflictError
from torchbuild.knowledge.redist import redist_product
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Library
from torchbuild.toolchains.provider import Answers, Question, Questions
from torchbuild.toolchains.redist_document import (
    Archive,
    document_locator,
    full_release,
    platform_of,
    read_document,
)

__all__ = ["RedistLibrary", "part", "questions"]

RedistLibrary = Literal["cudnn", "cusparselt", "nvshmem"]


def questions(recipe: Recipe, name: RedistLibrary) -> Questions:
    """The archive that the recipe names, or the document of the release.

    Raises:
        ConflictError: ``redist-release-incomplete``.
    """
    library = _library(recipe, name)
    if library.archive is not None:
        return Questions(files=(Question(locator=library.archive, sha256=library.sha256 or ""),))
    return Questions(documents=(_document(library, name),))


def part(recipe: Recipe, answers: Answers, name: RedistLibrary) -> LockedPart:
    """The library, by its digest.

    Raises:
        ConflictError: ``redist-release-incomplete``, ``redist-component-missing``,
            ``redist-variant-missing``, ``redist-version-differs``, ``redist-digest-differs``.
        FetchError: ``redist-document-invalid``.
    """
    library = _library(recipe, name)
    says: dict[str, str] = {}
    if library.archive is not None:
        artifact, version = answers.files[library.archive], library.version or ""
    else:
        archive = _archive(recipe, answers, name)
        artifact, version = archive.artifact, library.version or archive.version
        says[archive.component] = archive.version
    return LockedPart(
        name=name,
        provider="tarball",
        version=version,
        prefix=prefix_of(name),
        pieces=(LockedPiece(artifact=artifact, strip=1),),
        says=says,
    )


def _library(recipe: Recipe, name: RedistLibrary) -> Library:
    found: Library | None = getattr(recipe, name)
    return found or Library()


def _document(library: Library, name: RedistLibrary) -> str:
    fact = redist_product(name)
    return document_locator(fact, full_release(fact, f"{name}.version", library.version))


def _archive(recipe: Recipe, answers: Answers, name: RedistLibrary) -> Archive:
    """The archive of the document, which must be the release and the bytes that the recipe names."""
    library, fact = _library(recipe, name), redist_product(name)
    locator = _document(library, name)
    release = full_release(fact, f"{name}.version", library.version)
    document = read_document(locator, answers.documents[locator], release)
    cuda = recipe.cuda.version if recipe.cuda is not None else ""
    archive = document.archive(fact.component, recipe.target.machine, cuda.partition(".")[0])
    if archive is None:
        raise ConflictError(
            "redist-component-missing",
            f"{locator}: no {fact.component} for {platform_of(recipe.target.machine)}",
            why=f"seen: {fact.component} for {document.platforms(fact.component)}",
            fix=f"Name a release that has it, or the archive itself in {name}.archive.",
        )
    _compare(archive, library, name, locator)
    return archive


def _compare(archive: Archive, library: Library, name: RedistLibrary, locator: str) -> None:
    wanted = library.version or ""
    if archive.version != wanted and not archive.version.startswith(f"{wanted}."):
        raise ConflictError(
            "redist-version-differs",
            f"{locator} is of another release than {name}.version",
            why=(f"seen: {archive.component} {archive.version}", f"wanted: {wanted}"),
            fix=f'Set {name}.version = "{archive.version}", or name the archive itself in {name}.archive.',
        )
    if library.sha256 is not None and library.sha256 != archive.artifact.sha256:
        raise ConflictError(
            "redist-digest-differs",
            f"{archive.artifact.locator}: recipe and publisher name different digests",
            why=(f"publisher: {archive.artifact.sha256}", f"recipe: {library.sha256}"),
            fix=f"Find out what {name}.sha256 is of; then correct it, or name that file in {name}.archive.",
        )
