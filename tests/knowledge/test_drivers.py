"""Drivers, forward compatibility and the systems of boards."""

from __future__ import annotations

from typing import get_args

import pytest
from packaging.version import Version

from torchbuild.knowledge.cuda import cuda_release, cuda_releases
from torchbuild.knowledge.drivers import (
    ForwardCompat,
    driver_branch,
    forward_compat,
    is_eligible,
    jetpacks,
    newest_native,
)
from torchbuild.knowledge.fact import facts
from torchbuild.knowledge.gpus import Line, gpu_families

MINORS = tuple(dict.fromkeys(row.minor for row in cuda_releases()))
PACKAGES = facts(ForwardCompat, "forward_compat", "package")
BOARDS = [row.sm for row in gpu_families() if row.modules == "tegra"]


@pytest.mark.parametrize(
    ("driver", "branch"),
    [
        ("535.129.03", 535),
        ("570.169", 570),
        ("580", 580),
        ("", 0),
        ("new", 0),
        ("535.x", 0),
        ("-1", 0),
        ("535.129\n", 0),
    ],
)
def test_a_driver_has_a_branch(driver: str, branch: int) -> None:
    """Its first number; what is no driver has none."""
    assert driver_branch(driver) == branch


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [
        ("450.80.02", "11.0"),
        ("535.54.02", "12.1"),
        ("535.54.03", "12.2"),
        ("535.129.03", "12.2"),
        ("535", "12.2"),
        ("570.86.10", "12.8"),
        ("580", "13.0"),
        ("581", "13.0"),
        ("999.1", "13.3"),
        ("390.157", ""),
        ("390", ""),
        ("", ""),
        ("newest", ""),
    ],
)
def test_a_driver_runs_a_newest_toolkit_without_limits(driver: str, cuda: str) -> None:
    """A branch counts as all its releases; an old or unread driver runs none that is known."""
    assert newest_native(driver) == cuda


@pytest.mark.parametrize(
    ("cuda", "branches"),
    [
        ("12.4", (535,)),
        ("12.4.1", (535,)),
        ("12.9", (535, 570)),
        ("13.0.2", (535, 570)),
        ("13.1", (535, 570, 580)),
        ("13.4.1", (535, 570, 580, 590, 595, 610)),
    ],
)
def test_a_package_is_for_some_branches(cuda: str, branches: tuple[int, ...]) -> None:
    """By minor release, whichever patch is asked for."""
    found = forward_compat(cuda)

    assert found is not None
    assert found.branches == branches


@pytest.mark.parametrize("cuda", ["11.8", "12.2", "12.7", "14.0", "", "new"])
def test_of_other_packages_nothing_is_promised(cuda: str) -> None:
    """Branches of old editions have ended; of later releases nobody read anything."""
    assert forward_compat(cuda) is None


@pytest.mark.parametrize("row", PACKAGES, ids=lambda row: row.cuda)
def test_a_package_is_newer_than_its_branches(row: ForwardCompat) -> None:
    """It would be of no use otherwise; branches stand in order, and the release is one that is known."""
    assert cuda_release(row.cuda) is not None
    assert list(row.branches) == sorted(set(row.branches))
    for branch in row.branches:
        assert MINORS.index(newest_native(str(branch))) < MINORS.index(row.cuda)


def test_packages_are_in_order() -> None:
    """One row a release, oldest first."""
    versions = [Version(row.cuda) for row in PACKAGES]

    assert versions == sorted(set(versions))


def test_every_line_of_products_is_eligible_or_not() -> None:
    """Data-center GPUs and boards are; cards of people's own are not."""
    answers = {line: row.is_eligible for line in get_args(Line) if (row := is_eligible(line))}

    assert answers == {
        "datacenter": True,
        "jetson": True,
        "geforce": False,
        "titan": False,
        "workstation": False,
        "mining": False,
    }
    assert is_eligible("console") is None


def test_systems_of_a_board_are_told_oldest_first() -> None:
    """With the CUDA that each brings, and what else runs on it."""
    found = {row.jetpack: (row.cuda, row.upgrades) for row in jetpacks(87)}

    assert list(found) == ["5", "6.0", "6.1", "6.2", "7.2"]
    assert found["5"] == ("11.4", ("11.8", "12.0", "12.1", "12.2"))
    assert "13.0" not in found["6.2"][1]
    assert [row.jetpack for row in jetpacks(110)] == ["7.0", "7.1", "7.2"]
    assert [row.cuda for row in jetpacks(53)] == ["10.2"]


def test_only_boards_have_systems() -> None:
    """Every board but the first ones and a console's chip has; no card has."""
    assert [sm for sm in BOARDS if not jetpacks(sm)] == [32, 88]
    assert jetpacks(86) == ()
    assert all(row.sm in BOARDS or not jetpacks(row.sm) for row in gpu_families())


@pytest.mark.parametrize("sm", BOARDS)
def test_an_upgrade_is_no_release_that_is_there_already(sm: int) -> None:
    """Each release once, in order."""
    for row in jetpacks(sm):
        versions = [Version(item) for item in row.upgrades]

        assert versions == sorted(set(versions))
        assert row.cuda not in row.upgrades
        assert sm in row.sms
