"""Compiler caches that are known to go wrong with something, as typed rows read from TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from torchbuild.knowledge.fact import Fact, facts, in_range, table_cache

__all__ = ["CachePair", "Cached", "bad_pairs", "cache_pairs", "cache_version", "possible_pairs"]

_VERSION = re.compile(r"\d+(?:\.\d+)+")
_PTX = "+PTX"
_UNCONFIRMED = "unconfirmed"


class CachePair(Fact):
    """One that goes wrong."""

    name: str
    """Unique."""
    cache: str
    """``ccache`` or ``sccache``."""
    versions: str
    """Of it, a range; empty for all."""
    cuda: str = ""
    """Releases of the toolkit, a range; empty for any."""
    device: bool = False
    """Whether only device code is meant."""
    ptx_from: int = 0
    """Only with code for a virtual architecture from this one on, such as 90; 0 for any."""
    precompiled: bool = False
    """Whether only a tree with precompiled headers is meant."""
    is_wrong: bool = True
    """Whether a build fails or comes out wrong; else nothing is cached, and that is all."""
    what: str
    """What happens."""
    fix: str
    """What to do; begins with a verb."""

    @property
    def refuses(self) -> bool:
        """Whether no build begins with it."""
        return self.is_wrong and self.checked != _UNCONFIRMED


class Cached(NamedTuple):
    """What is compiled through a cache."""

    cuda: str = ""
    """Release of the toolkit; empty for a CPU build."""
    archs: tuple[str, ...] = ()
    """As a recipe has them, such as ``9.0+PTX``."""
    precompiled: bool = False
    """Whether headers are compiled beforehand."""


@table_cache
def cache_pairs() -> tuple[CachePair, ...]:
    """All that are known."""
    return facts(CachePair, "compiler_caches", "pair")


def cache_version(said: str) -> str:
    """The release, out of what a cache says of its version; empty where it says none."""
    found = _VERSION.search(said)
    return found[0] if found else ""


def bad_pairs(cache: str, version: str, what: Cached) -> tuple[CachePair, ...]:
    """What is known against a cache; where its version is not known, what is said of all versions.

    Args:
        cache: ``ccache`` or ``sccache``.
        version: its release; empty where it is not known.
        what: what is compiled.
    """
    return tuple(
        row
        for row in possible_pairs(cache, what)
        if not row.versions or (version and in_range(version, row.versions))
    )


def possible_pairs(cache: str, what: Cached) -> tuple[CachePair, ...]:
    """What is known against some release of a cache."""
    return tuple(row for row in cache_pairs() if row.cache == cache and _fits(row, what))


def _fits(row: CachePair, what: Cached) -> bool:
    return (
        (not row.device or bool(what.cuda))
        and (not row.cuda or bool(what.cuda and in_range(what.cuda, row.cuda)))
        and (not row.ptx_from or any(arch >= row.ptx_from for arch in _virtual(what.archs)))
        and (not row.precompiled or what.precompiled)
    )


def _virtual(archs: Iterable[str]) -> list[int]:
    """Virtual architectures that are asked for: ``9.0+PTX`` is 90."""
    found = (re.match(r"(\d+)\.(\d+)", arch) for arch in archs if arch.upper().endswith(_PTX))
    return [int(match[1]) * 10 + int(match[2]) for match in found if match]
