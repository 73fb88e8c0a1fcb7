"""What a compiler cache did not do that it was there for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from torchbuild.model.finding import Finding
from torchbuild.report.cache_statistics import CacheStatistics

__all__ = ["cache_findings"]

_FEW = 5
"""Fewer compilations say nothing about a cache."""
_PRECOMPILED = "could_not_use_precompiled_header"
_SERVED = "served"


def cache_findings(
    found: CacheStatistics,
    compiled: Mapping[str, int],
    *,
    was_warm: bool,
    shim: Mapping[str, object],
) -> Iterator[Finding]:
    """None of them stops a build: the wheel is the same, it only took longer.

    Args:
        found: what the cache counted.
        compiled: edges that ran, by language.
        was_warm: whether the same sources were compiled with the same flags before, through this cache.
        shim: what the shim left of a server: ``served``, ``backend``, ``beside``.
    """
    if shim and not shim.get(_SERVED):  # then nothing is counted, and that says nothing
        what = f"{found.cache}: its server did not start, was killed or gave no answer"
        yield _warned("cache-not-served", what, _counted(found), "one that serves from begin to end")
    else:
        yield from _never_asked(found, compiled)
    if was_warm:
        yield from _never_hit(found, is_beside=bool(shim.get("beside")))
    if found.errors:
        yield _warned("cache-errors", f"{found.cache}: errors of its own", _listed(found.errors), "none")
    if found.uncacheable[_PRECOMPILED]:
        what = f"{found.cache} took no call that uses a precompiled header"
        seen = str(found.uncacheable[_PRECOMPILED])
        yield _warned("cache-precompiled", what, seen, "pch_defines,time_macros in CCACHE_SLOPPINESS")
    backend = shim.get("backend")
    errors = found.remote["errors"]
    if backend or errors:
        what = f"{found.cache}: the shared backend was not used for everything; what is local was"
        seen = str(backend) if backend else f"{errors} of {found.calls} calls had an error there"
        yield _warned("cache-backend-failed", what, seen, "answers")


def _never_hit(found: CacheStatistics, *, is_beside: bool) -> Iterator[Finding]:
    """Of any language: hits of another do not make up for it."""
    why = "though all of this was compiled through it before"
    if is_beside:
        why = "because another build had its directory, and this one a directory beside it"
    if not found.hits and found.misses >= _FEW:
        yield _warned("cache-never-hit", f"{found.cache} had nothing, {why}", f"0 of {found.misses}", "hits")
        return
    for language, seen in sorted(found.languages.items()):
        if not seen["hits"] and seen["misses"] >= _FEW:
            what = f"{found.cache} had nothing of {language}, {why}"
            yield _warned("cache-never-hit", what, f"0 of {seen['misses']}", "hits")


def _counted(found: CacheStatistics) -> str:
    return f"{found.hits} hits and {found.misses} misses" if found.calls else "nothing was counted"


def _never_asked(found: CacheStatistics, compiled: Mapping[str, int]) -> Iterator[Finding]:
    """Of any language, although edges of it were compiled."""
    total = sum(compiled.values())
    if total >= _FEW and not found.calls:
        what = f"{found.cache} was never asked: nothing stands before the compilers"
        yield _warned("cache-never-asked", what, f"0 calls for {total} objects", f"{total} calls")
        return
    for language, number in sorted(compiled.items()):
        if number >= _FEW and found.calls and not found.languages.get(language):
            what = f"{found.cache} took none of {language}"
            yield _warned(
                "cache-never-asked", what, f"0 calls for {number} objects", _listed(found.uncacheable)
            )


def _listed(words: Counter[str]) -> str:
    return ", ".join(f"{word} {number}" for word, number in words.most_common()) or "calls"


def _warned(reference: str, what: str, seen: str, wanted: str = "") -> Finding:
    return Finding(reference=reference, outcome="warned", what=what, seen=seen, wanted=wanted)
