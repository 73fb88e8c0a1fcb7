"""The tree is asked twice: which options it has depends on what it is told, and what it is told on those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torchbuild.knowledge.tables import EraFact
from torchbuild.model.lock import Expectation
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.cmake_commands import Fetch
from torchbuild.resolve.cmake_scope import CacheEntry
from torchbuild.resolve.environment import BASE, build_environment, extra_defines
from torchbuild.resolve.parts_handed import Parts
from torchbuild.resolve.tree_options import Tree, is_declared

__all__ = ["AskedTree", "ask"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedTree:
    """What a tree is told, and what it makes of it before it looks at the machine."""

    tree: Tree
    """Its files."""
    declared: frozenset[str]
    """Options that it may have."""
    environ: dict[str, str]
    """The build's own variables."""
    defines: dict[str, str]
    """Further definitions for CMake."""
    cache: dict[str, CacheEntry]
    """The options that it will have."""
    fetches: tuple[Fetch, ...]
    """What it may fetch by itself while it is built."""

    def strict(self, row: Expectation) -> Expectation:
        """A switch that the tree surely declares must be there as one; any other may be hidden or absent."""
        entry = self.cache.get(row.key)
        is_option = row.kind == "switch" and entry is not None and is_declared(entry)
        return row.model_copy(update={"kind": "option"}) if is_option else row


def ask(
    recipe: Recipe,
    era: EraFact,
    files: Mapping[str, str],
    compilers: Mapping[str, str],
    epoch: int,
    *,
    parts: Parts | None = None,
) -> AskedTree:
    """Tell the tree what the recipe wants, and see what it has.

    Args:
        recipe: what is wanted.
        era: how the front end hands it over.
        files: the tree's CMake files.
        compilers: ``CC``, ``CXX`` and ``LAUNCHER``.
        epoch: SOURCE_DATE_EPOCH.
        parts: toolkit and libraries as they are locked; by default where the recipe has them.

    Raises:
        ConflictError: ``define-cannot-reach-cmake``, ``preset-unknown-release``.
    """
    tree = Tree(files, era, recipe.target.machine)
    defines, common = extra_defines(recipe, era, parts), BASE | {"SOURCE_DATE_EPOCH": str(epoch)}
    declared = tree.declared(common | build_environment(recipe, era, compilers, (), parts), defines)
    environ = build_environment(recipe, era, compilers, declared, parts)
    found = tree.followed(common | environ, defines)
    return AskedTree(
        tree=tree,
        declared=declared,
        environ=environ,
        defines=defines,
        cache=found.cache,
        fetches=found.fetches,
    )
