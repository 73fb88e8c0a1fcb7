"""Disks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CPU, CUDA, GIB, case, disk, host, outcome
from torchbuild.model.host import Unseen
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


def test_what_is_wanted_is_more_than_what_is_there() -> None:
    """The floor counts: a disk with a little more than builds took is told the sum, not a smaller number."""
    low = outcome(free_space(case(CUDA, machine=with_builds(free=9 * GIB))), "disk-space")
    whole = float(low.wanted.split(" GiB")[0])
    nearly = outcome(free_space(case(CUDA, machine=with_builds(free=int((whole - 0.2) * GIB)))), "disk-space")

    assert nearly.outcome == "warned"
    assert float(nearly.seen.split(" GiB")[0]) < whole
    assert "machine.disk_floor" in nearly.wanted


def test_the_store_needs_space_too() -> None:
    """What is fetched lies there; one file system with the builds is told once."""
    tiny, roomy = disk("store", free=1 << 20, device="0:9"), disk("builds")
    found = list(free_space(case(CUDA, machine=host(disks=(tiny, roomy)))))
    one = list(free_space(case(CUDA, machine=host(disks=(disk("store"), roomy)))))

    assert [item.outcome for item in found] == ["passed", "failed"]
    assert "TORCHBUILD_CACHE" in found[1].fix
    assert [item.outcome for item in one] == ["passed"]


def test_a_machine_alone_is_warned_of_a_full_disk() -> None:
    """No recipe asks for it yet."""
    item = outcome(free_space(case(machine=with_builds(free=0))), "disk-space")

    assert item.outcome == "warned"


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


def test_how_many_files_a_build_makes_is_known_of_torch() -> None:
    """Neither another package nor the store needs as many."""
    small = CPU.replace("[wheel]", '[wheel]\npackage = "small"')
    store = host(disks=(disk("builds"), disk("store", inodes=900)))

    assert outcome(free_files(case(small, machine=with_builds(inodes=900))), "disk-files").outcome == "passed"
    assert {item.outcome for item in free_files(case(CUDA, machine=store))} == {"passed"}


def test_a_file_in_the_way_is_told() -> None:
    """A directory cannot be made below it."""
    there = disk("builds", is_writable=False, obstacle="/data/file")

    (item,) = disk_rights(case(CUDA, machine=host(disks=(there,))))

    assert (item.outcome, item.seen) == ("failed", "/data/file is no directory")


def test_a_disk_that_does_not_answer_is_told_with_its_word() -> None:
    """It is not the rights that are missing."""
    hung = host(
        disks=(disk("builds", is_writable=False, free=None),),
        unseen=(Unseen(what="disk of builds", why="no answer in 10.0 s"),),
    )

    (item,) = disk_rights(case(CUDA, machine=hung))

    assert (item.outcome, item.seen) == ("failed", "no answer in 10.0 s")


def test_a_tmpdir_that_is_not_there_is_told() -> None:
    """Programs fall back, or fail; builds here have their own."""
    gone = disk("temp", wanted="/gone")

    (item,) = disk_rights(case(CUDA, machine=host(disks=(gone,))))

    assert (item.outcome, item.seen) == ("warned", "/gone is not there")


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
