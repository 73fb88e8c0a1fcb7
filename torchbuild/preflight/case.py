"""What all preflights are given: a machine, and perhaps a recipe with all that was found out about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torchbuild.advice.answer import Advice
from torchbuild.model.host import Disk, Host
from torchbuild.model.lock import Lock
from torchbuild.model.part import PartName
from torchbuild.model.recipe import Recipe
from torchbuild.model.source_tree import SourceTree

__all__ = ["Case", "EarlierRun"]


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run of the same recipe that ended well, or far enough to be told of."""

    run: str
    """Its name."""
    started: str
    """ISO 8601, in UTC."""
    seconds: Mapping[str, float]
    """Seconds of each stage that was done in it, by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One question: can this be built here, and does it fit there?"""

    host: Host
    """This machine."""
    recipe: Recipe | None = None
    """What is to be built; None: the machine alone is looked at."""
    lock: Lock | None = None
    """Its lock, where there is a fresh one."""
    advice: Advice | None = None
    """What the facts say of recipe and target; None where they know nothing of the package."""
    libraries: Mapping[PartName, Mapping[str, Any]] = field(default_factory=dict)
    """What ``look_library.py`` saw of the libraries that the recipe takes from this machine."""
    tree: SourceTree | None = None
    """The directory of the source, where it is one of this machine."""
    earlier: tuple[EarlierRun, ...] = ()
    """Earlier runs of the recipe, newest first."""

    @property
    def builds_here(self) -> bool:
        """Whether this machine itself is the builder: the recipe names no image."""
        return self.recipe is not None and self.recipe.image is None

    @property
    def has_cuda(self) -> bool:
        """Whether the recipe asks for a toolkit."""
        return self.recipe is not None and self.recipe.cuda is not None

    def disk(self, role: str) -> Disk | None:
        """The place of that role, where it was looked at."""
        return next((item for item in self.host.disks if item.role == role), None)

    def is_unseen(self, what: str) -> str:
        """Why something of the machine, or one of several, could not be looked at; empty where it could."""
        found = (item for item in self.host.unseen if f"{item.what} ".startswith(f"{what} "))
        return next((item.why for item in found), "")
