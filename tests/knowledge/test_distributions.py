"""Which C library and which Python a distribution has."""

from __future__ import annotations

import re

import pytest
from packaging.version import Version

from torchbuild.knowledge.distributions import (
    Distribution,
    distribution,
    distributions,
    near_distributions,
)
from torchbuild.knowledge.fact import facts
from torchbuild.knowledge.host_compilers import PackagesFact
from torchbuild.knowledge.platform_tags import legacy_glibc

ROWS = distributions()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_distribution_has_its_numbers(row: Distribution) -> None:
    """A C library always, a Python where somebody read it, and a source."""
    assert re.fullmatch(r"[a-z]+(-[a-z0-9.]+)+", row.name)
    assert re.fullmatch(r"2\.\d+", row.glibc)
    assert re.fullmatch(r"(3\.\d+)?", row.python)
    assert bool(row.suite) == (row.id == "debian")
    assert len(row.source) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row.checked)
    assert "memory" not in row.source or row.checked == "unconfirmed"


def test_no_name_means_two() -> None:
    """However it is written: names are unique among all, capital letters, blanks and signs aside."""
    names = [re.sub(r"[^a-z0-9.]", "", name.lower()) for row in ROWS for name in {row.name, *row.names}]
    once = {
        (row.name, re.sub(r"[^a-z0-9.]", "", name.lower())) for row in ROWS for name in (row.name, *row.names)
    }

    assert len({name for _, name in once}) == len(once)
    assert set(names) == {name for _, name in once}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_of_its_names_finds_it(row: Distribution) -> None:
    """As people write it."""
    assert {distribution(name) for name in (row.name, row.name.upper(), *row.names)} == {row}


def test_a_newer_release_has_no_older_library() -> None:
    """Within a distribution, glibc and Python rise or stay."""
    for kind in {row.id for row in ROWS}:
        own = sorted((row for row in ROWS if row.id == kind), key=lambda row: Version(row.release))
        libraries = [Version(row.glibc) for row in own]
        pythons = [Version(row.python) for row in own if row.python]
        assert libraries == sorted(libraries)
        assert pythons == sorted(pythons)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Debian 13", "debian-13"),
        ("trixie", "debian-13"),
        ("ubuntu22.04", "ubuntu-22.04"),
        ("JAMMY", "ubuntu-22.04"),
        ("el9", "rhel-9"),
        ("Rocky Linux 8", "rocky-8"),
        ("manylinux2014", "manylinux-2014"),
        ("manylinux_2_28_aarch64", "manylinux-2-28"),
    ],
)
def test_names_are_forgiving(name: str, found: str) -> None:
    """Capital letters, blanks, dashes and code names."""
    row = distribution(name)

    assert row is not None
    assert row.name == found


@pytest.mark.parametrize(("name", "near"), [("debain-12", "debian-12"), ("ubuntu-22.4", "ubuntu-22.04")])
def test_a_slip_has_its_neighbours(name: str, near: str) -> None:
    """What nobody knows is not guessed; what stands near is told, a few at most."""
    assert distribution(name) is None
    assert near in near_distributions(name)
    assert len(near_distributions(name)) <= 5
    assert distribution("plan9") is None
    assert near_distributions("") == ()


def test_an_image_has_the_library_of_its_tag() -> None:
    """Of images for wheels, the name says it."""
    images = [row for row in ROWS if row.name.startswith("manylinux-")]

    assert len(images) == 4
    for row in images:
        said = row.name.removeprefix("manylinux-").replace("-", ".")
        assert row.glibc in (said, legacy_glibc(f"manylinux{said}"))


def test_compilers_are_those_of_its_packages() -> None:
    """One fact in one place: nothing is said twice, and nothing where nobody knows."""
    trixie, seven = distribution("debian-13"), distribution("centos-7")

    assert trixie is not None
    assert seven is not None
    assert trixie.gcc == ("12", "13", "14")
    assert seven.gcc == ()
    ids = {row.id for row in ROWS}
    packages = facts(PackagesFact, "host_compilers", "packages")
    assert all(ids & set(row.ids) for row in packages)
