"""What a tree would fetch while it builds, found at lock time and pinned by commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchbuild.model.lock import LockedSubmodule
from torchbuild.resolve.late_sources import late_sources

if TYPE_CHECKING:
    from torchbuild.cli.locking import World
    from torchbuild.cli.source_answers import SourceAnswer
    from torchbuild.model.recipe import Recipe
    from torchbuild.resolve.asked import AskedTree

__all__ = ["locked_late_sources"]


def locked_late_sources(
    recipe: Recipe, answer: SourceAnswer, asked: AskedTree, there: World
) -> tuple[LockedSubmodule, ...]:
    """Each with the commit that its pin stands for today; the commits are in the cache afterwards.

    Raises:
        ConflictError: ``late-source-unpinned``, ``late-source-pin-invalid``.
        FetchError: what git meets.
    """
    brought = (*answer.brought, *(module.path for module in answer.source.submodules))
    found = []
    for late in late_sources(recipe, answer.tree, asked.cache, brought):
        _, commit = there.git.locate(late.url, late.ref)
        found.append(LockedSubmodule(path=late.to, url=late.url, commit=commit))
    return tuple(sorted(found, key=lambda module: module.path))
