"""Estimates say what they rest on, and no more than that."""

from __future__ import annotations

from tests.preflight.stand_ins import CPU, CUDA, GIB, case, host
from torchbuild.preflight.case import EarlierRun
from torchbuild.preflight.estimate import disk_need, estimates, job_memory, jobs_asked, memory_here


def test_an_earlier_run_says_more_than_any_table() -> None:
    """The same recipe took so long here."""
    run = EarlierRun(
        run="some-1", started="2026-11-01T10:00:00+00:00", seconds={"fetch": 60.0, "compile": 7140.0}
    )

    time = next(item for item in estimates(case(CUDA, earlier=(run,))) if item.what == "time")

    assert time.text == "2 h, as last time"
    assert "some-1" in time.basis


def test_without_one_the_least_that_was_measured_is_told() -> None:
    """With who measured it; more architectures take more, and nobody says how much."""
    time = next(item for item in estimates(case(CUDA)) if item.what == "time")

    assert time.text.startswith("at least ")
    assert "architectures more" in time.text
    assert "processor hours" in time.basis
    assert time.high is None


def test_of_another_package_nothing_is_told() -> None:
    """Nobody measured one: the figures are torch's."""
    text = CPU.replace("[wheel]", '[wheel]\npackage = "small"')

    assert estimates(case(text)) == ()


def test_space_grows_with_architectures() -> None:
    """Between what was told of one and of eight."""
    one, two = (
        disk_need(case(CUDA.replace('["7.5", "9.0"]', archs))) for archs in ('["9.0"]', '["7.5", "9.0"]')
    )

    assert one is not None
    assert two is not None
    assert 20e9 == one.count < two.count < 60e9


def test_the_least_limit_of_memory_counts() -> None:
    """The container's, or the recipe's own."""
    here = host(memory=64 * GIB, memory_limit=16 * GIB)

    assert memory_here(case(CUDA, machine=here)).count == 16 * GIB  # type: ignore[union-attr]
    assert memory_here(case(CUDA + "[machine]\nmemory_gib = 8\n", machine=here)).count == 8 * GIB  # type: ignore[union-attr]
    assert memory_here(case(machine=host(memory=None))) is None


def test_jobs_are_the_recipe_s_or_the_cores() -> None:
    """As in a build."""
    assert jobs_asked(case(CUDA)) == 8
    assert jobs_asked(case(CUDA + "[machine]\njobs = 3\n")) == 3


def test_a_compiler_s_memory_names_its_source() -> None:
    """Who doubts it can look."""
    assert "130443" in job_memory(case(CUDA)).basis
