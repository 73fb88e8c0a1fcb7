"""Where torchbuild keeps things on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path, user_state_path

if TYPE_CHECKING:
    from torchbuild.edges import garbage

__all__ = ["Places", "places"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """Directories; none need exist."""

    cache: Path
    """What can be fetched or computed again: store, repositories, compiler caches."""
    builds: Path
    """Workspaces, one a run."""

    @property
    def store(self) -> Path:
        """Files by digest."""
        return self.cache / "store"

    @property
    def compiler_cache(self) -> Path:
        """What a build sees at its cache path; outlives every run."""
        return self.cache / "compiler"

    @property
    def roots(self) -> Path:
        """Unpacked images, for machines without a container engine."""
        return self.cache / "roots"

    @property
    def live(self) -> Path:
        """What each workspace registered, so that no collection removes what its lock names."""
        return self.cache / "live"

    @property
    def first_seen(self) -> Path:
        """What files without a published digest were when first seen; kept when caches are emptied."""
        return self.cache / "first-seen"

    @property
    def caches(self) -> tuple[Path, ...]:
        """What can be made again at a price, besides the store and unpacked images.

        Compiler caches, repositories, what image making left, lists of Debian, parts of downloads.
        """
        return (self.compiler_cache, *(self.cache / name for name in ("git", "images", "debian", "partial")))

    @property
    def names(self) -> tuple[str, ...]:
        """What torchbuild puts into the cache folder."""
        ours = (self.store, self.roots, self.live, self.first_seen, *self.caches)
        return (*(path.name for path in ours), f"{self.store.name}.lock")

    def collectable(self) -> garbage.Places:
        """What `torchbuild.edges.garbage.collect` looks at."""
        from torchbuild.edges import garbage  # noqa: PLC0415  slow to import, and only two commands collect
        from torchbuild.edges.store import DirectoryStore  # noqa: PLC0415

        return garbage.Places(
            store=DirectoryStore(self.store),
            repositories=self.cache / "git",
            parts=self.cache / "partial",
            roots=self.roots,
            builds=self.builds,
            live=self.live,
        )


def places() -> Places:
    """From TORCHBUILD_CACHE and TORCHBUILD_BUILDS, else the user's own cache and state directories."""
    cache, builds = os.environ.get("TORCHBUILD_CACHE"), os.environ.get("TORCHBUILD_BUILDS")
    return Places(
        cache=Path(cache).absolute() if cache else user_cache_path("torchbuild"),
        builds=Path(builds).absolute() if builds else user_state_path("torchbuild") / "builds",
    )
