"""CUDA releases: rows that agree with one another."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchbuild.knowledge.cuda import (
    CudaRelease,
    arch_window,
    compat_floor,
    cuda_release,
    cuda_releases,
    installer_fact,
    installer_options,
    nearest_releases,
    space_ratios,
)
from torchbuild.model.gpu_arch import parse_arch

RELEASES = cuda_releases()
EACH = pytest.mark.parametrize("row", RELEASES, ids=[row.version for row in RELEASES])


def _rows() -> dict[str, Any]:
    text = (files("torchbuild.knowledge") / "data" / "cuda.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


ROWS = [
    (f"{name}-{index}", row)
    for name, value in _rows().items()
    for index, row in enumerate(value if isinstance(value, list) else [value])
]


@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=[name for name, _ in ROWS])
def test_every_fact_says_where_it_is_from(row: dict[str, Any]) -> None:
    """No row without its source and the day on which it was read."""
    assert len(row["source"]) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row["checked"])


@EACH
def test_a_runfile_is_called_after_its_release_and_its_driver(row: CudaRelease) -> None:
    """The name is written out in the table, and holds what stands beside it."""
    driver = f"_{row.driver}" if row.driver else ""
    for machine, suffix in (("x86_64", ""), ("aarch64", "_sbsa")):
        runfile = row.runfile(machine)
        assert runfile is None or runfile.name == f"cuda_{row.version}{driver}_linux{suffix}.run"
    assert (row.x86_64 is None) is bool(row.lacks)
    assert row.runfile("riscv64") is None


@EACH
def test_sizes_are_those_of_installers(row: CudaRelease) -> None:
    """Where a size is known it is that of gigabytes, and the processors have different files."""
    sizes = [item.size for item in (row.x86_64, row.aarch64) if item and item.size is not None]

    assert all(2_000_000_000 < size < 7_000_000_000 for size in sizes)
    assert len(set(sizes)) == len(sizes)


def test_releases_are_in_order() -> None:
    """Oldest first, none twice, every one with its patch, from 11.0 on."""
    versions = [Version(row.version) for row in RELEASES]

    assert versions == sorted(set(versions))
    assert all(len(version.release) == 3 for version in versions)
    assert (str(versions[0]), str(versions[-1])) == ("11.0.1", "13.4.1")
    assert not [row for row in RELEASES if row.minor == "12.7"]  # a driver's CUDA, which has no toolkit


def test_drivers_grow_with_releases() -> None:
    """A newer release comes with a driver that is no older, and needs none that is newer than its own."""
    drivers = [Version(row.driver) for row in RELEASES if row.driver]
    native = [Version(row.native) for row in RELEASES if row.native]

    assert all(older <= newer for older, newer in pairwise(drivers))
    assert all(older <= newer for older, newer in pairwise(native))
    for row in RELEASES:
        if row.driver and row.native:
            assert Version(row.native) <= Version(row.driver)
        floor = compat_floor(row.version)
        assert floor is not None
        if row.driver and Version(row.version) >= Version(
            "11.1"
        ):  # 11.0's own driver is older than its floor
            assert Version(floor.driver) <= Version(row.driver)


def test_from_13_4_on_a_runfile_holds_no_driver() -> None:
    """And its installer is not asked about one."""
    for row in RELEASES:
        assert bool(row.driver) is (Version(row.version) < Version("13.4"))
        assert ("--driver" in installer_options(row.version)) is bool(row.driver)
        assert ("--no-drm" in installer_options(row.version)) is bool(row.driver)


@pytest.mark.parametrize(
    ("asked", "found"),
    [("12.4", "12.4.1"), ("12.4.0", "12.4.0"), ("11.0", "11.0.3"), ("13.0", "13.0.3"), ("12.7", None)],
)
def test_a_release_is_found_by_its_name(asked: str, found: str | None) -> None:
    """A name without a patch means the newest patch that is known."""
    row = cuda_release(asked)

    assert (row.version if row else None) == found


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("13.1.9", ("13.1.0", "13.1.1", "13.1.2")),
        ("12.7", ("12.6.2", "12.6.3", "12.8.0", "12.8.1")),
        ("10.2", ("11.0.1", "11.0.2")),
        ("99", ("13.4.0", "13.4.1")),
        ("12", ("12.8.2", "12.9.0", "12.9.1", "12.9.2")),
        ("12.4.x", ("13.3.0", "13.3.1", "13.4.0", "13.4.1")),
        ("11.4.9", ("11.4.1", "11.4.2", "11.4.3", "11.4.4")),
    ],
)
def test_who_misses_a_release_is_told_its_neighbours(asked: str, near: tuple[str, ...]) -> None:
    """A few that are known, nearest to what was asked for."""
    assert nearest_releases(asked) == near


MEASURED = {
    "11.7.1": "35 37 50 52 53 60 61 62 70 72 75 80 86 87",
    "11.8.0": "35 37 50 52 53 60 61 62 70 72 75 80 86 87 89 90",
    "12.0.1": "50 52 53 60 61 62 70 72 75 80 86 87 89 90 90a",
    "12.6.3": "50 52 53 60 61 62 70 72 75 80 86 87 89 90 90a",
    "12.8.1": "50 52 53 60 61 62 70 72 75 80 86 87 89 90 90a 100 100a 101 101a 120 120a",
    "12.9.1": "50 52 53 60 61 62 70 72 75 80 86 87 89 90 90a 100 100a 101 101a 120 120a "
    "100f 101f 103 103a 103f 120f 121 121a 121f",
    "13.0.2": "75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f",
    "13.3.1": "75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f",
    "13.4.1": "75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 107 107a 107f 110 110a 110f "
    "120 120a 120f 121 121a 121f",
}


@cache
def _archs(release: str) -> list[str]:
    """The architectures whose window holds a release."""
    names = [row["sm"] for row in _rows()["arch"]]
    return [name for name in names if (row := arch_window(name)) and SpecifierSet(row.cuda).contains(release)]


@pytest.mark.parametrize("release", MEASURED)
def test_architectures_are_what_the_compilers_print(release: str) -> None:
    """The windows of all architectures, cut at a release, are that release's own list."""
    assert set(_archs(release)) == set(MEASURED[release].split())


def test_windows_of_architectures_are_whole() -> None:
    """Once known an architecture stays until it goes for good; a variant is never known without its chip."""
    for row in _rows()["arch"]:
        known = [row["sm"] in _archs(release.version) for release in RELEASES]
        changes = sum(before != after for before, after in pairwise(known))
        assert changes <= 2
        assert any(known) or SpecifierSet(row["cuda"]).contains(
            "8.0"
        )  # one that ended before the oldest release
        plain = row["sm"].rstrip("af")
        for release in RELEASES:
            archs = _archs(release.version)
            assert row["sm"] not in archs or plain in archs


def test_architectures_are_in_order() -> None:
    """Each once, as recipes can say it, the oldest hardware first."""
    names = [row["sm"] for row in _rows()["arch"]]
    parsed = [parse_arch(f"{name.rstrip('af')[:-1]}.{name[len(name.rstrip('af')) - 1 :]}") for name in names]

    assert parsed == sorted(set(parsed))
    assert [item.real for item in parsed] == [f"sm_{name}" for name in names]


def test_a_window_is_found_by_its_name() -> None:
    """As the message needs it that says since when, or until when."""
    window = arch_window("101")

    assert window is not None
    assert window.cuda == ">=12.8,<13"
    assert arch_window("999") is None


def test_the_installer_can_be_told_everywhere() -> None:
    """Every release of the table knows what an installation without a question and a driver needs."""
    for row in RELEASES:
        assert {"--silent", "--toolkit", "--toolkitpath", "--tmpdir"} <= installer_options(row.version)
    assert "--samples" in installer_options("11.8.0")
    assert "--samples" not in installer_options("12.0.0")
    assert installer_options("10.2.89") == frozenset()
    assert installer_options("what") == frozenset()


def test_what_a_toolkit_has_is_relative_and_in_order() -> None:
    """Programs are looked for below the prefix; logs lie at absolute places."""
    fact = installer_fact()

    assert list(fact.programs) == sorted(set(fact.programs))
    assert {"bin/nvcc", "nvvm/bin/cicc"} <= set(fact.programs)
    assert not [name for name in fact.programs if name.startswith("/") or ".." in name]
    assert all(
        path.startswith("/") for path in (*fact.logs, *fact.outside, fact.driver_log, fact.default_path)
    )
    assert space_ratios().temp >= 1


def test_nobody_knows_what_no_row_holds() -> None:
    """An unknown release gets no floor, rather than a guess."""
    for release in ("9.0", "14.0", "what"):
        assert compat_floor(release) is None
