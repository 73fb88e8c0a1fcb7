"""What a compiler cache did not do that it was there for."""

from __future__ import annotations

from collections import Counter
from typing import Any

from torchbuild.report.cache_findings import cache_findings
from torchbuild.report.cache_statistics import CacheStatistics


def counted(hits: int = 0, misses: int = 0, **more: Any) -> CacheStatistics:
    """Of C++ alone."""
    found = CacheStatistics("ccache", hits=hits, misses=misses, **more)
    found.count("C++", "hits", hits)
    found.count("C++", "misses", misses)
    return found


def told(
    found: CacheStatistics, compiled: dict[str, int], *, was_warm: bool = False, **shim: Any
) -> list[str]:
    """The references of what is found."""
    findings = list(cache_findings(found, compiled, was_warm=was_warm, shim=shim))
    assert all(item.outcome == "warned" and item.seen for item in findings)
    return [item.reference for item in findings]


def test_a_cache_that_works_is_not_mentioned() -> None:
    """Cold, warm, and where nothing was compiled."""
    assert told(counted(misses=40), {"C++": 40}) == []
    assert told(counted(hits=40), {"C++": 40}, was_warm=True, served=True, backend="") == []
    assert told(counted(), {}) == []


def test_one_that_was_never_asked_is_told() -> None:
    """A tree that sets launchers of its own, or none: the cache counts nothing (ROCm/TheRock#5672)."""
    assert told(CacheStatistics("ccache"), {"C++": 40}) == ["cache-never-asked"]
    assert told(CacheStatistics("ccache"), {"C++": 2}) == []


def test_a_language_that_never_reached_it_is_told() -> None:
    """Device code is compiled by another launcher than C++."""
    assert told(counted(hits=40), {"C++": 40, "CUDA": 12}) == ["cache-never-asked"]
    assert told(counted(hits=40), {"C++": 40, "CUDA": 2}) == []


def test_one_that_had_nothing_though_it_was_warm_is_told() -> None:
    """All of this was compiled through it before; a cold one may have nothing."""
    assert told(counted(misses=40), {"C++": 40}, was_warm=True) == ["cache-never-hit"]
    assert told(counted(hits=1, misses=39), {"C++": 40}, was_warm=True) == []


def test_a_language_that_never_hits_is_told() -> None:
    """Device code that differs each time is compiled each time, whatever is had of C++."""
    found = counted(hits=40)
    found.misses = 12
    found.count("CUDA", "misses", 12)

    assert told(found, {"C++": 40, "CUDA": 12}, was_warm=True) == ["cache-never-hit"]
    assert told(found, {"C++": 40, "CUDA": 12}) == []


def test_a_directory_beside_the_usual_one_is_named_as_the_cause() -> None:
    """Two builds at once: nobody looks for what differs in compilations."""
    found, shim = counted(misses=40), {"served": True, "backend": "", "beside": True}

    (finding,) = cache_findings(found, {"C++": 40}, was_warm=True, shim=shim)

    assert finding.reference == "cache-never-hit"
    assert "another build had its directory" in finding.what


def test_errors_and_what_it_cannot_take_are_told() -> None:
    """By its own words."""
    wrong = counted(misses=9, errors=Counter(internal_error=3))
    refused = counted(misses=9, uncacheable=Counter(could_not_use_precompiled_header=30))

    assert told(wrong, {"C++": 9}) == ["cache-errors"]
    assert told(refused, {"C++": 9}) == ["cache-precompiled"]


def test_a_backend_that_failed_is_told_whoever_saw_it() -> None:
    """The cache itself by call, or the shim where its server did not begin with it."""
    assert told(counted(misses=9, remote=Counter(errors=9)), {"C++": 9}) == ["cache-backend-failed"]
    assert told(counted(misses=9), {"C++": 9}, served=True, backend="refused") == ["cache-backend-failed"]


def test_a_server_that_did_not_serve_is_told() -> None:
    """What was compiled then was compiled without a cache; nobody looks for launchers because of it."""
    assert told(CacheStatistics("sccache"), {"C++": 9}, served=False, backend="") == ["cache-not-served"]
