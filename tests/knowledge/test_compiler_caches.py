"""Compiler caches that are known to go wrong with something."""

from __future__ import annotations

import pytest

from torchbuild.knowledge.compiler_caches import Cached, bad_pairs, cache_pairs, cache_version, possible_pairs

CPU = Cached()
PCH = Cached(precompiled=True)


def cuda(version: str, *archs: str) -> Cached:
    """A build with a toolkit."""
    return Cached(cuda=version, archs=archs or ("9.0",))


@pytest.mark.parametrize(
    ("cache", "version", "what", "names"),
    [
        ("sccache", "0.16.0", cuda("13.3.0"), ["sccache, steps of nvcc"]),
        ("sccache", "0.16.0", cuda("13.4.1"), ["sccache, steps of nvcc"]),
        ("sccache", "0.16.0", cuda("13.2.1"), []),
        ("sccache", "0.18.0", cuda("13.3.0"), []),
        ("sccache", "0.18.0", cuda("13.3.0", "8.0+PTX"), []),
        ("sccache", "0.18.0", cuda("13.3.0", "8.0", "9.0+PTX"), ["sccache, PTX alone"]),
        ("sccache", "0.18.0", cuda("13.2.0", "12.0+PTX"), ["sccache, PTX alone"]),
        ("sccache", "0.16.0", CPU, []),
        ("sccache", "0.16.0", PCH, ["sccache, precompiled headers"]),
        ("sccache", "", PCH, ["sccache, precompiled headers"]),
        ("sccache", "", cuda("13.3.0"), []),
        ("sccache", "0.4.0", CPU, ["sccache, empty objects"]),
        ("ccache", "3.7.12", cuda("12.4.1"), ["ccache, device code of CMake"]),
        ("ccache", "4.11.2", cuda("13.4.0", "9.0+PTX"), []),
        ("ccache", "4.11.2", PCH, []),
    ],
)
def test_what_goes_wrong_is_known_by_release(
    cache: str, version: str, what: Cached, names: list[str]
) -> None:
    """Each row counts for its own releases, toolkits and architectures, and for no others."""
    assert [row.name for row in bad_pairs(cache, version, what)] == names


def test_where_no_release_is_known_all_that_may_be_is() -> None:
    """Before a builder is looked at, what some release would do is still told."""
    assert {row.name for row in possible_pairs("sccache", cuda("13.4.0", "9.0+PTX"))} == {
        "sccache, PTX alone",
        "sccache, empty objects",
        "sccache, steps of nvcc",
    }


def test_only_what_somebody_read_and_what_is_wrong_refuses() -> None:
    """A doubt is told; so is a cache that only keeps nothing."""
    refuses = {row.name: row.refuses for row in cache_pairs()}

    assert refuses == {
        "ccache, device code of CMake": False,
        "sccache, PTX alone": True,
        "sccache, empty objects": False,
        "sccache, precompiled headers": True,
        "sccache, steps of nvcc": True,
    }


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("ccache version 4.11.2", "4.11.2"),
        ("sccache 0.16.0", "0.16.0"),
        ("ccache version 4.8+really4.7.5", "4.8"),
        ("", ""),
        ("no idea", ""),
    ],
)
def test_a_release_is_read_out_of_what_is_said(said: str, version: str) -> None:
    """Both caches say theirs in a line of their own."""
    assert cache_version(said) == version
