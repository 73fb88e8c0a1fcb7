"""Memory and jobs."""

from __future__ import annotations

import pytest

from tests.preflight.stand_ins import CPU, CUDA, GIB, case, host, outcome
from torchbuild.preflight.memory import cores, memory_for_jobs


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"memory": 64 * GIB}, "passed"),
        ({"memory": 16 * GIB}, "warned"),
        ({"memory": 64 * GIB, "memory_limit": 16 * GIB}, "warned"),
        ({"memory": 4 * GIB}, "failed"),
    ],
    ids=["fits", "too many jobs", "the container's limit counts", "not one fits"],
)
def test_jobs_must_fit_into_memory(changed: dict[str, int], wanted: str) -> None:
    """The control group's limit counts, not the machine's memory; eight jobs of 5.3 GB do not fit in 16 GiB."""
    item = outcome(memory_for_jobs(case(CUDA, machine=host(**changed))), "memory-for-jobs")

    assert item.outcome == wanted


def test_swap_makes_what_would_fail_a_doubt() -> None:
    """One compiler that ends in swap is slow, and no failure: the advice to add some must help."""
    here = host(memory=4 * GIB, swap=8 * GIB)

    assert outcome(memory_for_jobs(case(CUDA, machine=here)), "memory-for-jobs").outcome == "warned"


@pytest.mark.parametrize(
    ("changed", "wanted", "seen"),
    [
        ({"limits": {"memory": 2 * GIB}}, "failed", "2.0 GiB for each process (ulimit -v)"),
        ({"limits": {"memory": 20 * GIB, "open files": 1024}}, "passed", "64.0 GiB (all of this machine)"),
        ({"memory_available": GIB}, "warned", "1.0 GiB free of 64.0 GiB (all of this machine)"),
    ],
    ids=["a shell's limit", "a limit that is no trouble", "others use it"],
)
def test_what_one_compiler_may_take_counts_too(changed: dict[str, object], wanted: str, seen: str) -> None:
    """A limit of each process, and what others leave at this moment."""
    item = outcome(memory_for_jobs(case(CUDA, machine=host(**changed))), "memory-for-jobs")

    assert (item.outcome, item.seen) == (wanted, seen)


def test_of_another_package_nobody_measured_a_compiler() -> None:
    """What torch's take refuses no small package on a small machine."""
    text = CPU.replace("[wheel]", '[wheel]\npackage = "small"')

    item = outcome(memory_for_jobs(case(text, machine=host(memory=GIB))), "memory-for-jobs")

    assert (item.outcome, item.is_fatal) == ("not run", False)


def test_the_number_that_fits_is_told() -> None:
    """One need not compute it."""
    item = outcome(memory_for_jobs(case(CUDA, machine=host(memory=16 * GIB))), "memory-for-jobs")

    assert item.fix == "Build with --set machine.jobs=2"


def test_without_flash_attention_a_compiler_takes_less() -> None:
    """What is not compiled takes no memory."""
    flags = "[build]\nflags = { USE_FLASH_ATTENTION = false, USE_MEM_EFF_ATTENTION = false }\n"

    item = outcome(memory_for_jobs(case(CUDA + flags, machine=host(memory=32 * GIB))), "memory-for-jobs")

    assert item.outcome == "passed"


def test_many_more_jobs_than_cores_are_told() -> None:
    """They take memory and no less time."""
    item = outcome(cores(case(CUDA + "[machine]\njobs = 128\n")), "jobs-over-cores")

    assert item.outcome == "warned"
