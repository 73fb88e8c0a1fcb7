"""What builds have taken."""

from __future__ import annotations

from torchbuild.knowledge.build_costs import job_cost, space_cost, space_fact, time_cost


def test_the_least_that_was_measured_is_the_estimate() -> None:
    """An estimate that says "at least" must be one."""
    assert time_cost("cpu").amount == 2.8


def test_space_is_told_by_the_rows_on_both_sides() -> None:
    """Beyond the last row it is that one, twice."""
    low, high = space_cost("cuda", 3)

    assert (low.archs, high.archs) == (1, 8)
    assert space_cost("cuda", 20)[0] is space_cost("cuda", 20)[1]


def test_what_is_switched_off_takes_no_memory() -> None:
    """The largest kernels are those of attention; both switches must be off."""
    both = frozenset({"USE_FLASH_ATTENTION", "USE_MEM_EFF_ATTENTION"})

    assert job_cost("cuda", frozenset()).gb == 5.3
    assert job_cost("cuda", frozenset({"USE_FLASH_ATTENTION"})).gb == 5.3
    assert job_cost("cuda", both).gb == 2.08


def test_a_count_has_a_name() -> None:
    """None where nobody counted."""
    files = space_fact("files")

    assert files is not None
    assert files.least > 0
    assert space_fact("moons") is None
