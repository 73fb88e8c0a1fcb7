"""Provider ``wheels`` of the libraries: the wheel that a publisher puts on the Python index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from packaging.version import InvalidVersion, Version

from torchbuild.errors import ConflictError
from torchbuild.knowledge.libraries import LibraryWheel, library_fact, library_names, library_wheels
from torchbuild.model.part import LockedPart, LockedPiece, PartName, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.library_wish import cuda_major, version_wish
from torchbuild.toolchains.provider import Answers, Provider, Questions

__all__ = ["PROVIDERS", "LibraryWheels"]


@dataclass(frozen=True, slots=True)
class LibraryWheels:
    """One library from its wheel. The wheel has no unversioned links: ``complete_library`` makes them."""

    name: PartName
    """Which."""

    def questions(self, recipe: Recipe) -> Questions:
        """The one wheel.

        Raises:
            ConflictError: ``library-version-unreadable``, ``library-wheel-missing``,
                ``library-wheel-too-old``.
        """
        row, version = self._row(recipe)
        return Questions(wheels=(f"{row.distribution}=={version}",))

    def part(self, recipe: Recipe, answers: Answers) -> LockedPart:
        """What of the wheel becomes the library.

        Raises:
            ConflictError: as `questions`.
        """
        row, version = self._row(recipe)
        pieces = tuple(LockedPiece(artifact=wheel, only=row.folder) for wheel in answers.wheels)
        return LockedPart(
            name=self.name, provider="wheels", version=version, prefix=prefix_of(self.name), pieces=pieces
        )

    def _row(self, recipe: Recipe) -> tuple[LibraryWheel, str]:
        major, text = cuda_major(self.name, recipe), version_wish(self.name, recipe)
        rows = library_wheels(self.name, major)
        if not rows:
            raise self._missing(major)
        try:
            version = Version(text)
        except InvalidVersion as error:
            raise ConflictError(
                "library-version-unreadable",
                f"the index has no release of {library_fact(self.name).title} called {text}",
                why=(f"seen {self.name}.version = {text}", f"wanted a version such as {rows[0].first}"),
                fix=f"Correct {self.name}.version.",
            ) from error
        if version < Version(rows[0].first):
            raise self._too_old(rows, text)
        return next(row for row in reversed(rows) if Version(row.first) <= version), text

    def _missing(self, major: str) -> ConflictError:
        there = [row.cuda for row in library_wheels(self.name)]
        title = library_fact(self.name).title
        known = f"wheels for CUDA {', '.join(dict.fromkeys(there))}" if there else "no wheels at all"
        return ConflictError(
            "library-wheel-missing",
            f"nobody publishes {title} for CUDA {major} as a wheel",
            why=(f"seen {known}", f"wanted one for CUDA {major}", "source: the Python index, as listed"),
            fix=f'Set {self.name}.from to "tarball" or "system", or build for another CUDA.',
        )

    def _too_old(self, rows: tuple[LibraryWheel, ...], version: str) -> ConflictError:
        row = rows[0]
        return ConflictError(
            "library-wheel-too-old",
            f"the wheels of {library_fact(self.name).title} for CUDA {row.cuda} begin with {row.first}",
            why=(f"seen {self.name}.version = {version}", f"wanted {row.first} or later", row.source),
            fix=f'Raise {self.name}.version, or set {self.name}.from = "tarball".',
        )


PROVIDERS: Mapping[str, Provider] = MappingProxyType({name: LibraryWheels(name) for name in library_names()})
"""By the part's name."""
