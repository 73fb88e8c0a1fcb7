"""The contract of a provider: what it asks the world at lock time, and the part that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pydantic import Field

from torchbuild.model.artifact import Artifact
from torchbuild.model.frozen import Frozen
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe

__all__ = ["Answers", "Provider", "Question", "Questions"]


class Question(Frozen):
    """One file whose digest is not known before it is asked for."""

    locator: str
    """Where it can be had, neutral: ``nvidia:PATH``, ``debian:SUITE/SOURCE/FILE`` or an address."""
    sha256: str = ""
    """The digest that the recipe or a publisher names; empty: it is computed when the bytes are first
    seen, and the lock says so."""


class Questions(Frozen):
    """All that a provider must know before it can lock."""

    wheels: tuple[str, ...] = ()
    """Exact requirements, such as ``nvidia-nccl-cu12==2.21.5``. The wheel of each is found, and nothing that
    it requires."""
    documents: tuple[str, ...] = ()
    """Locators of a publisher's small documents, which are read at lock time and hold digests."""
    files: tuple[Question, ...] = ()
    """Files that become pieces of the part."""


class Answers(Frozen):
    """What the world said."""

    wheels: tuple[Artifact, ...] = ()
    """One for each requirement, in the same order."""
    documents: dict[str, str] = Field(default_factory=dict)
    """Text by locator."""
    files: dict[str, Artifact] = Field(default_factory=dict)
    """By locator."""
    builder: dict[str, str] = Field(default_factory=dict)
    """What the survey of the builder found, by name; see each provider."""


class Provider(Protocol):
    """One way to come by one part. Modules have this shape: ``toolchains/cuda_wheels.py`` and so on."""

    def questions(self, recipe: Recipe) -> Questions:
        """What to ask. Raises ConflictError where this provider cannot have what the recipe wants."""
        ...

    def part(self, recipe: Recipe, answers: Answers) -> LockedPart:
        """The part, exactly. Deterministic."""
        ...


Providers = Mapping[str, Provider]
"""By the recipe's ``from``."""
