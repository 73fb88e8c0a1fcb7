"""What a compiler cache made of the compile edges of one build, whichever cache it was."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LANGUAGES", "CacheStatistics", "language_of", "of_ccache", "of_sccache", "statistics_of"]

LANGUAGES: Mapping[str, str] = {
    ".c": "C", ".cc": "C++", ".cpp": "C++", ".cxx": "C++", ".C": "C++", ".c++": "C++", ".cu": "CUDA",
    ".hxx": "C++", ".hpp": "C++", ".s": "assembler", ".S": "assembler", ".asm": "assembler",
}  # fmt: skip
"""By the ends of sources."""
_DIRECT, _PREPROCESSED, _MISS = "direct_cache_hit", "preprocessed_cache_hit", "cache_miss"
_REMOTE = {"remote_storage_hit": "hits", "remote_storage_miss": "misses"}
_REMOTE_ERRORS = frozenset({"remote_storage_error", "remote_storage_timeout"})
_ERRORS = frozenset(
    """
    bad_input_file bad_output_file compiler_check_failed could_not_find_compiler error_hashing_extra_file
    internal_error missing_cache_file
    """.split()  # noqa: SIM905
)
"""ccache's own counters of what went wrong in it, and not in the source."""
_UNCACHEABLE = frozenset(
    """
    autoconf_test bad_compiler_arguments called_for_link called_for_preprocessing compile_failed
    compiler_produced_empty_output compiler_produced_no_output compiler_produced_stdout could_not_use_modules
    could_not_use_precompiled_header disabled modified_input_file multiple_source_files no_input_file
    output_to_stdout preprocessor_error recache unsupported_code_directive unsupported_compiler_option
    unsupported_environment_variable unsupported_source_encoding unsupported_source_language
    """.split()  # noqa: SIM905
)
"""ccache's counters of calls that it did not take."""
_STEPS = {"CUDA (Device code)", "PTX", "CUBIN"}
"""What sccache counts inside one call of nvcc."""


@dataclass(slots=True)
class CacheStatistics:
    """Counts, of calls."""

    cache: str
    """``ccache``, or ``sccache`` and its release."""
    direct: int = 0
    """Hits without the preprocessor; 0 where a cache does not tell them apart."""
    preprocessed: int = 0
    """Hits after it; likewise."""
    hits: int = 0
    """All."""
    misses: int = 0
    """Compiled, and kept."""
    errors: Counter[str] = field(default_factory=Counter)
    """What went wrong in the cache itself, by its own word."""
    uncacheable: Counter[str] = field(default_factory=Counter)
    """Calls that it did not take, by its own word."""
    languages: dict[str, Counter[str]] = field(default_factory=dict)
    """``hits`` and ``misses`` by language."""
    remote: Counter[str] = field(default_factory=Counter)
    """``hits``, ``misses`` and ``errors`` of a shared backend, where the cache tells."""

    @property
    def calls(self) -> int:
        """All that it was asked."""
        return self.hits + self.misses + self.errors.total() + self.uncacheable.total()

    def count(self, language: str, word: str, number: int = 1) -> None:
        """Note hits or misses of a language."""
        self.languages.setdefault(language, Counter())[word] += number

    def evidence(self) -> dict[str, str]:
        """For the report, by name."""
        if not self.calls:
            return {"cache": self.cache}
        told = {"cache": self.cache, "cache_hits": f"{self.hits} of {self.hits + self.misses}"}
        apart = {_DIRECT: self.direct, _PREPROCESSED: self.preprocessed}
        kinds = apart if any(apart.values()) else {"cache_hit": self.hits}
        told |= {f"cache_{word}": str(number) for word, number in kinds.items() if number}
        told |= {f"cache_{_MISS}": str(self.misses)} if self.misses else {}
        told |= {
            f"cache_{language}": f"{seen['hits']} of {seen.total()}"
            for language, seen in sorted(self.languages.items())
        }
        told |= {f"cache_error_{word}": str(number) for word, number in sorted(self.errors.items())}
        told |= {f"cache_not_taken_{word}": str(number) for word, number in sorted(self.uncacheable.items())}
        told |= {f"cache_backend_{word}": str(number) for word, number in sorted(self.remote.items())}
        return told


def language_of(source: str) -> str:
    """By the end of its name; ``other`` where that says nothing."""
    return LANGUAGES.get(posixpath.splitext(source)[1], "other")


def of_ccache(text: str) -> CacheStatistics:
    """Out of its log: a line ``# SOURCE`` for each call, and the counters that it raised, one a line."""
    found = CacheStatistics("ccache")
    source, words = "", list[str]()
    for line in (*text.split("\n"), "# "):
        if not line.startswith("# "):
            words.append(line)
            continue
        _take(found, source, words)
        source, words = line[2:], []
    return found


def _take(found: CacheStatistics, source: str, words: Iterable[str]) -> None:
    """One call: what it was at last is what counts."""
    seen = Counter(words)
    for word, name in _REMOTE.items():
        found.remote[name] += bool(seen[word])
    found.remote["errors"] += any(seen[word] for word in _REMOTE_ERRORS)
    found.remote += Counter()  # what is 0 goes
    refused = [word for word in seen if word in _ERRORS or word in _UNCACHEABLE]
    if seen[_DIRECT] or seen[_PREPROCESSED]:
        found.hits += 1
        found.direct += bool(seen[_DIRECT])
        found.preprocessed += not seen[_DIRECT]
        found.count(language_of(source), "hits")
    elif refused:  # a compilation that failed counts as a miss too
        kind = found.errors if refused[0] in _ERRORS else found.uncacheable
        kind[refused[0]] += 1
    elif seen[_MISS]:
        found.misses += 1
        found.count(language_of(source), "misses")


def of_sccache(document: Mapping[str, Any]) -> CacheStatistics:
    """Out of what a server that served this build alone says of itself, as JSON."""
    version = document.get("version")
    found = CacheStatistics(f"sccache {version}" if isinstance(version, str) else "sccache")
    said = document.get("stats")
    stats: Mapping[str, Any] = said if isinstance(said, dict) else {}
    for name, word in (("cache_hits", "hits"), ("cache_misses", "misses")):
        for language, number in _by_language(stats.get(name)).items():
            found.count(language, word, number)
    found.hits = sum(seen["hits"] for seen in found.languages.values())
    found.misses = sum(seen["misses"] for seen in found.languages.values())
    for reason, number in _numbers(stats.get("not_cached")).items():
        found.uncacheable[reason] += number
    for name in ("requests_unsupported_compiler", "requests_not_compile", "compile_fails"):
        found.uncacheable[name] += _number(stats.get(name))
    for name in ("cache_timeouts", "cache_read_errors", "cache_write_errors"):
        found.errors[name] += _number(stats.get(name))
    for language, number in _by_language(stats.get("cache_errors")).items():
        found.errors[f"cache_errors_{language}"] += number
    found.errors += Counter()
    found.uncacheable += Counter()
    return found


def _by_language(said: object) -> Mapping[str, int]:
    """``c [gcc]`` and ``c++ [gcc]`` apart, where it tells them apart; the steps of nvcc left out."""
    counts = said if isinstance(said, dict) else {}
    names = {"c": "C", "c++": "C++", "cuda": "CUDA", "assembler": "assembler"}
    found: Counter[str] = Counter()
    for name, number in _numbers(counts.get("adv_counts")).items():
        language, _, compiler = name.partition(" [")
        if language in names and compiler != "cudafe++]":
            found[names[language]] += number
    if found:
        return found
    return {name: number for name, number in _numbers(counts.get("counts")).items() if name not in _STEPS}


def _numbers(said: object) -> Mapping[str, int]:
    counts = said if isinstance(said, dict) else {}
    return {str(name): _number(number) for name, number in counts.items()}


def _number(said: object) -> int:
    return said if isinstance(said, int) and said > 0 else 0


def statistics_of(cache: str, statslog: str, document: object) -> CacheStatistics:
    """Of the cache of a lock.

    Args:
        cache: its program.
        statslog: what ccache left.
        document: what the shim left of sccache.
    """
    if posixpath.basename(cache) != "sccache":
        return of_ccache(statslog)
    return of_sccache(document if isinstance(document, dict) else {})
