"""What the parts of a toolchain are made of, asked at lock time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from torchbuild.cli.lock_progress import told_progress
from torchbuild.edges.first_use import FirstUse
from torchbuild.model.artifact import Artifact
from torchbuild.toolchains.provider import Answers, Questions
from torchbuild.toolchains.providers import providers_of

if TYPE_CHECKING:
    from torchbuild.cli.locking import World
    from torchbuild.model.part import LockedPart
    from torchbuild.model.recipe import Recipe

__all__ = ["LockedToolchain", "locked_toolchain"]

Wheels = Callable[[tuple[str, ...]], tuple[Artifact, ...]]
"""Exact requirements to all wheels that an environment with them has."""


class LockedToolchain(NamedTuple):
    """The parts, exactly."""

    parts: tuple[LockedPart, ...]
    """In the order in which they are laid and proven."""
    unpinned: tuple[str, ...]
    """A sentence for each file whose digest nobody names."""


def locked_toolchain(
    recipe: Recipe,
    there: World,
    wheels: Wheels,
    tell: Callable[[str], None],
    builder: Mapping[str, str],
) -> LockedToolchain:
    """Ask each provider what it must know, then the world, several files at a time.

    Args:
        recipe: what is wanted.
        there: the edges; what is fetched stays in the store.
        wheels: resolves requirements.
        tell: hears in one line what is done.
        builder: what was found of the builder and the tree, by name.

    Raises:
        ConflictError: what a provider cannot have.
        RecipeError, FetchError, HostError: as `FirstUse` and the resolver say.
    """
    providers = providers_of(recipe)
    asked = {name: provider.questions(recipe) for name, provider in providers.items()}
    if not asked:
        return LockedToolchain((), ())
    for name, provider in providers.items():
        if asked[name] == Questions():  # what the builder has is judged before gigabytes are fetched
            provider.part(recipe, Answers(builder=dict(builder)))
    tell("asking for the parts of the toolchain: " + ", ".join(asked))
    first_use = FirstUse(there.downloads)
    documents = first_use.documents(
        locator for questions in asked.values() for locator in questions.documents
    )
    wanted = {item.locator: item.sha256 for questions in asked.values() for item in questions.files}
    seen = first_use.files(wanted, told_progress(tell))
    found = Answers(documents=documents, files=seen.artifacts, builder=dict(builder))
    parts = tuple(
        provider.part(recipe, _answers(asked[name], found, wheels)) for name, provider in providers.items()
    )
    return LockedToolchain(parts, seen.unpinned)


def _answers(questions: Questions, found: Answers, wheels: Wheels) -> Answers:
    """What is for one provider: the wheel of each requirement, and nothing that it requires."""
    if not questions.wheels:
        return found
    by_name = {
        canonicalize_name(item.locator.split(":")[1].split("/")[0]): item for item in wheels(questions.wheels)
    }
    own = tuple(by_name[canonicalize_name(Requirement(text).name)] for text in questions.wheels)
    return found.model_copy(update={"wheels": own})
