"""What a compiler cache is told, and what is known against it with what a recipe compiles."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping

from torchbuild.errors import ConflictError
from torchbuild.knowledge.compiler_caches import Cached, CachePair, bad_pairs, cache_version
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.flags import flags, switch_state

__all__ = ["SCCACHE", "cache_environment", "cached_by_lock", "cached_by_recipe", "weigh_cache"]

SCCACHE = "sccache"
_PRECOMPILED = "USE_PRECOMPILED_HEADERS"
_ALWAYS = ("include_file_mtime", "include_file_ctime")
"""A header that the build itself made is new, and is complete where ninja lets its users begin."""
_OF_PRECOMPILED = ("pch_defines", "time_macros")
"""Without them ccache takes no precompiled header. Elsewhere they would keep objects with an old date."""


def cache_environment(launcher: str, recipe: Recipe, declared: Collection[str] = ()) -> Mapping[str, str]:
    """Where a cache is kept, and what it need not look at. The machine decides the directory.

    Args:
        launcher: the cache's program; empty for none.
        recipe: what is asked for.
        declared: options of the tree.
    """
    if not launcher:
        return {}
    if posixpath.basename(launcher) == SCCACHE:
        return {"SCCACHE_DIR": "{cache}/sccache"}
    sloppy = (*_OF_PRECOMPILED, *_ALWAYS) if _has_precompiled(recipe, declared) else _ALWAYS
    return {"CCACHE_DIR": "{cache}/ccache", "CCACHE_SLOPPINESS": ",".join(sloppy)}


def _has_precompiled(recipe: Recipe, declared: Collection[str] = ()) -> bool:
    value, _ = flags(recipe, declared).get(_PRECOMPILED, ("", ""))
    return switch_state(_PRECOMPILED, value, recipe.build.flags.get(_PRECOMPILED)) == "ON"


def cached_by_recipe(recipe: Recipe) -> Cached:
    """What will go through it."""
    cuda = recipe.cuda
    return Cached(
        cuda=cuda.version if cuda is not None else "",
        archs=tuple(cuda.archs) if cuda is not None else (),
        precompiled=_has_precompiled(recipe),
    )


def cached_by_lock(lock: Lock) -> Cached:
    """The same, as it is locked."""
    release = next((part.version for part in lock.parts if part.name == "cuda"), "")
    wanted = next((item.value for item in lock.expect if item.key == _PRECOMPILED), "OFF")
    return Cached(cuda=release, archs=lock.gpu_archs, precompiled=wanted == "ON")


def weigh_cache(recipe: Recipe, launcher: str, said: str, despite: tuple[str, ...] = ()) -> Iterator[str]:
    """A line for each thing that is known against the builder's cache with this recipe.

    Args:
        recipe: what is asked for.
        launcher: the cache's program; empty for none.
        said: its version, as it says it.
        despite: what the caller goes on in spite of, by reference.

    Raises:
        ConflictError: ``compiler-cache-known-bad``.
    """
    name, version = posixpath.basename(launcher), cache_version(said)
    rows = bad_pairs(name, version, cached_by_recipe(recipe)) if launcher else ()
    refused = [row for row in rows if row.refuses]
    if refused and "compiler-cache-pair" not in despite:
        raise ConflictError(
            "compiler-cache-known-bad",
            f"{name} {version} does not go with what this recipe compiles",
            why=tuple(against(row) for row in refused),
            fix=refused[0].fix,
        )
    yield from (f"{name} {version}: {against(row)}" for row in rows)


def against(row: CachePair) -> str:
    """One line."""
    sure = "" if row.checked != "unconfirmed" else ", which nobody confirmed"
    return f"{row.what} ({row.source}{sure})"
