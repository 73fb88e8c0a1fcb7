"""MAGMA out of an archive that the recipe names: nobody publishes one for every toolkit."""

from __future__ import annotations

from torchbuild.errors import ConflictError
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.library_wish import cuda_major, library_of, version_wish
from torchbuild.toolchains.provider import Answers, Question, Questions

__all__ = ["part", "questions"]


def questions(recipe: Recipe) -> Questions:
    """The archive.

    Raises:
        ConflictError: ``magma-archive-unnamed``.
    """
    return Questions(files=(_archive(recipe),))


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """Its folders ``include`` and ``lib``, which stand at the top of PyTorch's own archives.

    Raises:
        ConflictError: as `questions`.
    """
    piece = LockedPiece(artifact=answers.files[_archive(recipe).locator])
    version = version_wish("magma", recipe)
    return LockedPart(
        name="magma", provider="tarball", version=version, prefix=prefix_of("magma"), pieces=(piece,)
    )


def _archive(recipe: Recipe) -> Question:
    cuda_major("magma", recipe)
    wish = library_of("magma", recipe)
    if wish is None or not wish.archive:
        raise ConflictError(
            "magma-archive-unnamed",
            "the recipe takes MAGMA from an archive and does not name it",
            why=(
                "seen no magma.archive",
                "wanted a locator: it is built for one toolkit",
            ),
            fix='Set magma.archive, or magma.from = "system" with its path.',
        )
    return Question(locator=wish.archive, sha256=wish.sha256 or "")
