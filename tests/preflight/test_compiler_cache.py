"""The compiler cache of a recipe, before anything is fetched."""

from __future__ import annotations

import pytest

from tests.preflight.stand_ins import CPU, CUDA, case, outcome
from torchbuild.preflight.compiler_cache import cache_pair

SCCACHE = "[toolchain]\ncompiler_cache = 'sccache'\n"
PCH = "[build]\nflags = { USE_PRECOMPILED_HEADERS = true }\n"


def test_what_is_wrong_with_every_release_is_refused() -> None:
    """It keeps wrong objects where headers are precompiled: nobody waits an hour for that."""
    found = outcome(cache_pair(case(CPU + SCCACHE + PCH)), "compiler-cache-pair")

    assert (found.outcome, found.is_fatal, found.blames) == ("failed", True, "recipe")
    assert "2562" in found.wanted
    assert "ccache" in found.fix


def test_what_is_wrong_with_some_releases_is_told() -> None:
    """Which one the builder has, the lock will see."""
    text = CUDA.replace("12.4.1", "13.3.0") + SCCACHE
    found = [item for item in cache_pair(case(text)) if "simt" in item.what]

    assert [item.outcome for item in found] == ["warned"]


@pytest.mark.parametrize("cache", ["none", "auto", "ccache"])
def test_what_goes_together_is_not_mentioned(cache: str) -> None:
    """The other cache takes precompiled headers; where no cache is named none is weighed."""
    assert not list(cache_pair(case(f"{CPU}[toolchain]\ncompiler_cache = '{cache}'\n{PCH}")))
