"""Disks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CPU, CUDA, GIB, case, disk, host, outcome
from torchbuild.preflight.space import disk_kinds, disk_rights, free_files, free_space, installer_space


def with_builds(**changed: Any) -> Any:
    """A machine whose builds lie on that disk."""
    return host(disks=(disk("builds", **changed), disk("temp", **changed)))


@pytest.mark.parametrize(
    ("free", "wanted"),
    [(500, "passed"), (9, "warned"), (1, "failed")],
    ids=["roomy", "tight", "below the floor"],
)
def test_space_is_compared_with_what_such_builds_have_taken(free: int, wanted: str) -> None:
    """Below the floor at which a build would wait it fails; below what others took it is a doubt."""
    item = outcome(free_space(case(CUDA, machine=with_builds(free=free * GIB))), "disk-space")

    assert item.outcome == wanted


def test_what_nobody_measured_is_not_guessed() -> None:
    """Of another package only the floor is known."""
    text = CPU.replace("[wheel]", '[wheel]\npackage = "small"')

    assert (
        outcome(free_space(case(text, machine=with_builds(free=3 * GIB))), "disk-space").outcome == "passed"
    )


def test_a_disk_that_could_not_be_looked_at_is_not_run() -> None:
    """Nothing is said of it."""
    item = outcome(free_space(case(CUDA, machine=with_builds(free=None))), "disk-space")

    assert item.outcome == "not run"


@pytest.mark.parametrize(("inodes", "wanted"), [(10_000_000, "passed"), (900, "failed")])
def test_a_disk_can_be_full_of_files(inodes: int, wanted: str) -> None:
    """And have space left."""
    item = outcome(free_files(case(CUDA, machine=with_builds(inodes=inodes))), "disk-files")

    assert item.outcome == wanted


def test_programs_must_start_where_builds_are() -> None:
    """Noexec where builds are fails; in the temporary folder it hurts only those who build by hand."""
    found = list(disk_rights(case(CUDA, machine=with_builds(is_noexec=True))))

    assert [(item.reference, item.outcome) for item in found] == [
        ("disk-noexec", "failed"),
        ("disk-noexec", "warned"),
    ]


def test_each_place_must_be_writable() -> None:
    """With the variable that moves it."""
    first, _ = disk_rights(case(CUDA, machine=with_builds(is_writable=False)))

    assert (first.reference, first.outcome) == ("disk-not-writable", "failed")
    assert "TORCHBUILD_BUILDS" in first.fix


@pytest.mark.parametrize(("kind", "wanted"), [("ext4", "passed"), ("nfs4", "warned"), ("tmpfs", "warned")])
def test_a_network_and_memory_are_no_place_for_builds(kind: str, wanted: str) -> None:
    """They work, slowly or not for long."""
    assert outcome(disk_kinds(case(CUDA, machine=with_builds(kind=kind))), "disk-kind").outcome == wanted


@pytest.mark.parametrize(("free", "wanted"), [(500, "passed"), (6, "failed")])
def test_the_installer_needs_several_times_its_size(free: int, wanted: str) -> None:
    """It unpacks itself, then copies; short of space it says something else."""
    text = CUDA.replace("redist", "runfile")

    found = installer_space(case(text, machine=with_builds(free=free * GIB)))

    assert outcome(found, "installer-space").outcome == wanted
