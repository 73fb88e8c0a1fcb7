"""Which releases of a library are published as wheels, by the CUDA that they are for."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts

__all__ = ["LibraryReleases", "every_release", "library_releases"]


class LibraryReleases(Fact):
    """The releases of one library for one CUDA."""

    library: str
    """Such as ``cudnn``."""
    cuda: str
    """Major release of CUDA."""
    versions: tuple[str, ...]
    """Oldest first."""


def library_releases(library: str, cuda: str) -> tuple[str, ...]:
    """Published releases for a CUDA such as ``12``, oldest first; empty where there are none."""
    return next((row.versions for row in every_release(library) if row.cuda == cuda), ())


def every_release(library: str) -> tuple[LibraryReleases, ...]:
    """Its releases, a row for each CUDA."""
    rows = facts(LibraryReleases, "library_releases", "library")
    return tuple(row for row in rows if row.library == library)
