"""What a compiler cache made of the edges of one build."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.report.cache_statistics import language_of, of_ccache, of_sccache, statistics_of

STATSLOG = """\
# /s/a.cpp
direct_cache_hit
local_storage_hit
local_storage_read_hit
local_storage_read_hit
# /s/b.cpp
direct_cache_miss
preprocessed_cache_hit
remote_storage_hit
# /s/c.c
cache_miss
direct_cache_miss
remote_storage_error
# /s/k.cu
cache_miss
remote_storage_miss
# /s/broken.cpp
cache_miss
compile_failed
# /s/x.o
called_for_link
# /s/pch.cpp
could_not_use_precompiled_header
# /s/odd.cpp
internal_error
"""
SCCACHE = {
    "stats": {
        "compile_requests": 9,
        "requests_not_compile": 1,
        "requests_unsupported_compiler": 0,
        "compile_fails": 1,
        "cache_hits": {
            "counts": {"C/C++": 3, "PTX": 2},
            "adv_counts": {"c [gcc]": 1, "c++ [gcc]": 2, "ptx [cicc]": 2},
        },
        "cache_misses": {
            "counts": {"C/C++": 1, "CUDA": 1, "CUDA (Device code)": 1, "CUBIN": 2},
            "adv_counts": {"c++ [gcc]": 1, "cuda [nvcc]": 1, "cuda [cudafe++]": 1, "cubin [ptxas]": 2},
        },
        "cache_errors": {"counts": {}, "adv_counts": {}},
        "cache_timeouts": 0,
        "cache_read_errors": 2,
        "cache_write_errors": 0,
        "not_cached": {"-x language": 1},
    },
    "version": "0.16.0",
}


def test_ccache_is_counted_by_call() -> None:
    """Direct and preprocessed hits, misses, what it did not take and why, its errors, languages, the backend."""
    found = of_ccache(STATSLOG)

    assert (found.direct, found.preprocessed, found.hits, found.misses) == (1, 1, 2, 2)
    assert found.uncacheable == {
        "compile_failed": 1,
        "called_for_link": 1,
        "could_not_use_precompiled_header": 1,
    }
    assert found.errors == {"internal_error": 1}
    assert found.languages == {"C++": {"hits": 2}, "C": {"misses": 1}, "CUDA": {"misses": 1}}
    assert found.remote == {"hits": 1, "misses": 1, "errors": 1}
    assert found.calls == 8


def test_sccache_is_counted_by_compilation() -> None:
    """One call of nvcc is one, whatever it counts inside; C and C++ are told apart."""
    found = of_sccache(SCCACHE)

    assert (found.cache, found.hits, found.misses) == ("sccache 0.16.0", 3, 2)
    assert found.languages == {
        "C": {"hits": 1},
        "C++": {"hits": 2, "misses": 1},
        "CUDA": {"misses": 1},
    }
    assert found.uncacheable == {"-x language": 1, "requests_not_compile": 1, "compile_fails": 1}
    assert found.errors == {"cache_read_errors": 2}


def test_the_report_has_both_in_the_same_words() -> None:
    """Hits of calls, by language, and each reason by its own word."""
    ccache, sccache = of_ccache(STATSLOG).evidence(), of_sccache(SCCACHE).evidence()

    assert (ccache["cache_hits"], ccache["cache_C++"]) == ("2 of 4", "2 of 2")
    assert (ccache["cache_direct_cache_hit"], ccache["cache_cache_miss"]) == ("1", "2")
    assert ccache["cache_not_taken_called_for_link"] == ccache["cache_error_internal_error"] == "1"
    assert (sccache["cache_hits"], sccache["cache_C++"]) == ("3 of 5", "2 of 3")
    assert (sccache["cache_cache_hit"], sccache["cache"]) == ("3", "sccache 0.16.0")
    assert of_ccache("").evidence() == {"cache": "ccache"}


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("a/b.cpp", "C++"),
        ("x.c", "C"),
        ("k.cu", "CUDA"),
        ("s.S", "assembler"),
        ("cmake_pch.hxx", "C++"),
        ("x", "other"),
    ],
)
def test_a_language_is_known_by_the_source(source: str, language: str) -> None:
    """As CMake knows it."""
    assert language_of(source) == language


def test_the_program_decides_what_is_read() -> None:
    """Whatever else lies there."""
    assert statistics_of("/usr/bin/ccache", STATSLOG, SCCACHE).hits == 2
    assert statistics_of("/usr/local/bin/sccache", STATSLOG, SCCACHE).hits == 3
    assert statistics_of("/usr/local/bin/sccache", STATSLOG, None).calls == 0


@given(st.text())
def test_any_log_is_read(text: str) -> None:
    """One that was cut off, or written by another program, counts what it can."""
    assert of_ccache(text).calls >= 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["stats", "cache_hits", "counts", "adv_counts", "not_cached", "c++ [gcc]"]),
                inner,
            )
        ),
    )
)
def test_any_answer_of_a_server_is_read(document: object) -> None:
    """Of another version of it, or of something else."""
    assert of_sccache(document if isinstance(document, dict) else {}).calls >= 0
    json.dumps(of_sccache(document if isinstance(document, dict) else {}).evidence())
