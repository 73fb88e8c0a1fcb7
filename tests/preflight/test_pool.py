"""What other machines cannot compile, said before a build."""

from __future__ import annotations

import pytest

from tests.preflight.stand_ins import CPU, CUDA, case
from torchbuild.preflight.pool import pool_limits

POOL = '[machine.distribute]\nhosts = ["build1/8", "build2"]\n'


def test_without_a_pool_nothing_is_said() -> None:
    """Nobody asked for one."""
    assert list(pool_limits(case(CPU))) == []
    assert list(pool_limits(case(None))) == []


def test_where_all_may_go_the_slots_are_told() -> None:
    """The machines' own number, and the recipe's for those without one."""
    (found,) = pool_limits(case(CPU + POOL))

    assert (found.outcome, found.reference) == ("passed", "pool-limits")
    assert "12 at a time" in found.seen


@pytest.mark.parametrize(
    ("recipe", "wanted"),
    [
        (CUDA, "device code (nvcc)"),
        (CPU + '[build]\ntype = "Debug"\n', "debug information"),
        (CPU + '[build]\nenv = { CXXFLAGS = "-O3 -march=native" }\n', "-march=native"),
        (CPU + '[build]\nenv = { CXXFLAGS = "-O3 -g" }\n', "debug information"),
        (CPU + '[build]\ncmake = { CMAKE_CXX_FLAGS = "-flto=auto" }\n', "-flto"),
        (CPU + '[build]\nenv = { CFLAGS = "--coverage" }\n', "coverage"),
    ],
    ids=["CUDA", "Debug", "native", "-g", "LTO", "coverage"],
)
def test_what_stays_here_is_said_with_the_reason(recipe: str, wanted: str) -> None:
    """Whoever has machines for it learns before the hour that they stand idle."""
    (found,) = pool_limits(case(recipe + POOL))

    assert found.outcome == "warned"
    assert wanted in found.what
    assert "distcc" in found.what


def test_options_that_only_look_like_those_are_none() -> None:
    """-gno-…, -g0 and names that hold such letters."""
    flags = '[build]\nenv = { CXXFLAGS = "-g0 -fno-lto -gno-column-info -Dx=-gold" }\n'

    assert [item.outcome for item in pool_limits(case(CPU + flags + POOL))] == ["passed"]
