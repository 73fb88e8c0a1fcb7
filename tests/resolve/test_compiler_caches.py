"""What a compiler cache is told, and what is known against it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import ConflictError
from torchbuild.model.lock import Expectation, Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.compiler_caches import (
    cache_environment,
    cached_by_lock,
    cached_by_recipe,
    weigh_cache,
)

Load = Callable[..., Recipe]
PCH = "[build]\nflags = { USE_PRECOMPILED_HEADERS = true }\n"
CUDA = "[cuda]\nversion = '13.3.0'\narchs = ['9.0+PTX']\n"


def test_times_and_macros_are_passed_over_only_for_precompiled_headers(load: Load, least: str) -> None:
    """Else an object with the date of another commit in it would be taken for this one's."""
    plain = cache_environment("/usr/bin/ccache", load(least))
    precompiled = cache_environment("/usr/bin/ccache", load(least + PCH))

    assert plain == {
        "CCACHE_DIR": "{cache}/ccache",
        "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",
    }
    assert precompiled["CCACHE_SLOPPINESS"] == "pch_defines,time_macros,include_file_mtime,include_file_ctime"


def test_sccache_has_a_directory_and_nothing_more(load: Load, least: str) -> None:
    """All else its server is told where it is started; without a cache nothing is said."""
    assert cache_environment("/usr/bin/sccache", load(least)) == {"SCCACHE_DIR": "{cache}/sccache"}
    assert cache_environment("", load(least)) == {}


def test_a_pair_that_is_known_to_fail_is_refused(load: Load, least: str) -> None:
    """With the source that says so, and what to do; by name it can be overridden."""
    recipe = load(least + CUDA)
    with pytest.raises(ConflictError) as caught:
        list(weigh_cache(recipe, "/usr/bin/sccache", "sccache 0.16.0"))

    assert caught.value.reference == "compiler-cache-known-bad"
    assert "190832" in caught.value.why[0]
    lines = list(weigh_cache(recipe, "/usr/bin/sccache", "sccache 0.16.0", ("compiler-cache-pair",)))
    assert [line.partition(":")[0] for line in lines] == ["sccache 0.16.0"]


def test_a_doubt_is_told(load: Load, least: str) -> None:
    """What nobody confirmed stops no lock."""
    lines = list(weigh_cache(load(least), "/usr/bin/sccache", "sccache 0.4.0-pre.6"))

    assert len(lines) == 1
    assert "nobody confirmed" in lines[0]
    assert not list(weigh_cache(load(least), "", ""))


def test_recipe_and_lock_say_the_same(load: Load, least: str, make_lock: Callable[..., Lock]) -> None:
    """What is weighed at the lock is weighed again in the build."""
    wanted = Expectation(
        reference="gate-flag", key="USE_PRECOMPILED_HEADERS", kind="switch", value="ON", why="me"
    )
    assert cached_by_recipe(load(least + PCH)) == cached_by_lock(make_lock(expect=(wanted,)))
    assert cached_by_recipe(load(least + CUDA)).archs == ("9.0+PTX",)
