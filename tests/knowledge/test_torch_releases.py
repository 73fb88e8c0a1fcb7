"""What is known of torch releases: each row with its source, and all tables of one mind."""

from __future__ import annotations

import re

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchbuild.knowledge.cuda import arch_window, cuda_release, cuda_releases
from torchbuild.knowledge.fact import Fact, facts, in_range
from torchbuild.knowledge.libraries import lowest_chips
from torchbuild.knowledge.tables import era_fact
from torchbuild.knowledge.torch_releases import (
    OfficialBuild,
    TorchArchs,
    TorchCMake,
    TorchLine,
    official_builds,
    torch_archs,
    torch_cmake,
    torch_line,
    torch_lines,
)

LINES = torch_lines()
ALL = [release for line in LINES for release in line.releases]
MACHINES = ("x86_64", "aarch64")
BUILDS = [row for line in LINES for machine in MACHINES for row in official_builds(line.minor, machine)]
LATER = {"cudnn": 4, "nccl": 3, "cusparselt": 4, "nvshmem": 3}
"""Libraries, and the numbers at most of a release of theirs."""


def _name(row: OfficialBuild) -> str:
    return f"{row.torch}-{row.machine}-{row.cuda or 'cpu'}"


def _sm(arch: str) -> str:
    """``90a`` of ``9.0a+PTX``."""
    return arch.removesuffix("+PTX").replace(".", "")


@pytest.mark.parametrize(
    "row",
    [
        *LINES,
        *facts(OfficialBuild, "official_builds", "build"),
        *facts(TorchArchs, "torch_archs", "archs"),
        *facts(TorchCMake, "torch_cmake", "cmake"),
    ],
)
def test_every_fact_says_where_it_is_from(row: Fact) -> None:
    """No row without its source and the day on which it was read."""
    assert len(row.source) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row.checked)


def test_what_nobody_read_says_so() -> None:
    """What was not read, or is taken to be as elsewhere, is not passed off as read."""
    known = [*LINES, *facts(TorchArchs, "torch_archs", "archs"), *facts(TorchCMake, "torch_cmake", "cmake")]

    assert all(
        row.checked == "unconfirmed" for row in known if re.search("memory|not read|taken to", row.source)
    )


def test_lines_and_their_releases_are_in_order() -> None:
    """The newest is the last, everywhere, and no release is in two lines."""
    minors = [Version(line.minor) for line in LINES]

    assert minors == sorted(set(minors))
    assert [Version(release) for release in ALL] == sorted({Version(release) for release in ALL})


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.minor)
def test_a_release_belongs_to_its_line(line: TorchLine) -> None:
    """By its number, and by the range that the line says."""
    assert line.releases
    assert all(in_range(release, line.torch) for release in line.releases)
    assert [other.minor for other in LINES if in_range(line.releases[0], other.torch)] == [line.minor]
    assert {torch_line(name) for name in (line.minor, *line.releases)} == {line}
    assert era_fact(line.era).backends


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.minor)
def test_a_line_accepts_the_toolkit_that_it_was_built_with(line: TorchLine) -> None:
    """The newest one of its own scripts is known, and not below its own floor; nothing is above any ceiling."""
    assert cuda_release(line.exercised) is not None
    assert in_range(line.exercised, line.cuda)
    assert re.fullmatch(r"(>=\d+\.\d+)?", line.cuda)
    assert bool(line.cuda) or line.checked == "unconfirmed"


def test_no_line_takes_less_than_the_one_before() -> None:
    """Floors and newest toolkits rise, or stay."""
    floors = [Version(line.cuda.removeprefix(">=")) for line in LINES if line.cuda]
    newest = [Version(line.exercised) for line in LINES]

    assert floors == sorted(floors)
    assert newest == sorted(newest)


@pytest.mark.parametrize("name", ["1.4", "3.0.0", "nonsense", ""])
def test_what_nobody_knows_is_not_guessed(name: str) -> None:
    """Neither too old nor too new ones, nor what is no release."""
    assert torch_line(name) is None
    assert official_builds(name) == ()


def test_a_tree_on_its_way_to_a_release_is_of_that_line() -> None:
    """What a checkout calls itself is enough."""
    assert torch_line("2.13.0a0+git1234567") == torch_line("2.13")


@pytest.mark.parametrize("build", BUILDS, ids=_name)
def test_an_official_build_is_one_that_its_tree_accepts(build: OfficialBuild) -> None:
    """Its toolkit is known, and inside the range of its line, and no newer than the newest of its scripts."""
    line = torch_line(build.torch)

    assert line is not None
    assert not build.cuda or cuda_release(build.cuda) is not None
    assert not build.cuda or in_range(build.cuda, line.cuda)
    assert not build.cuda or Version(build.cuda) <= Version(line.exercised)
    assert bool(build.archs) <= bool(build.cuda)
    assert re.fullmatch(r"(2\.\d+)?", build.glibc)


@pytest.mark.parametrize("build", BUILDS, ids=_name)
def test_its_architectures_can_be_said_and_compiled(build: OfficialBuild) -> None:
    """Each is in the grammar of its release and in the window of its toolkit; in order, PTX of the newest only."""
    grammar = torch_archs(build.torch)
    items = [item.removesuffix("+PTX") for item in build.archs]

    assert grammar is not None
    assert set(items) <= set(grammar.archs)
    for item in items:
        window = arch_window(_sm(item))
        assert window is not None
        assert in_range(build.cuda, window.cuda)
    assert items == sorted(set(items), key=lambda item: Version(item.rstrip("af")))
    assert all(not item.endswith("+PTX") for item in build.archs[:-1])


@pytest.mark.parametrize("build", BUILDS, ids=_name)
def test_its_libraries_are_releases(build: OfficialBuild) -> None:
    """Numbers as their publishers write them; a wheel for the CPU has none."""
    for name, most in LATER.items():
        release = getattr(build, name)
        assert re.fullmatch(rf"(\d+(\.\d+){{1,{most - 1}}})?", release)
        assert bool(release) <= bool(build.cuda)


def test_upstreams_cudnn_lacks_old_chips_only() -> None:
    """What upstream ships together works together, but where it ships kernels for chips that its cuDNN left."""
    lacking = {
        f"{build.torch}/{build.cuda}/{number}"
        for build in BUILDS
        for row in (lowest_chips("cudnn", build.cudnn, build.cuda.partition(".")[0]) if build.cudnn else ())
        for number in (int(_sm(item).rstrip("af")) for item in build.archs)
        if number < row.lowest
    }

    assert lacking == {f"2.{minor}/11.8/37" for minor in (4, 5, 6, 7)}


def test_builds_are_one_each_and_in_order() -> None:
    """By release, processor and toolkit; the CPU's first."""
    rows = facts(OfficialBuild, "official_builds", "build")
    keys = [(Version(row.torch), row.machine, Version(row.cuda or "0")) for row in rows]

    assert keys == sorted(set(keys))
    assert len(rows) == len(BUILDS)
    assert [row.cuda for row in official_builds("2.6.0")] == ["", "11.8", "12.4", "12.6"]


@pytest.mark.parametrize("release", ALL)
def test_each_release_has_one_grammar_and_one_cmake(release: str) -> None:
    """Ranges leave no gap, and do not overlap."""
    grammars, oldest = facts(TorchArchs, "torch_archs", "archs"), facts(TorchCMake, "torch_cmake", "cmake")

    assert sum(in_range(release, row.torch) for row in grammars) == 1
    assert sum(in_range(release, row.torch) for row in oldest) == 1
    cmake = torch_cmake(release)
    assert cmake is not None
    assert SpecifierSet(cmake.cmake)


@pytest.mark.parametrize("row", facts(TorchArchs, "torch_archs", "archs"), ids=lambda row: row.torch)
def test_a_grammar_says_what_some_toolkit_compiles_for(row: TorchArchs) -> None:
    """Each architecture is one that a toolkit knows, in order; letters are those of the grammar."""
    for group in (row.archs, row.named):
        assert all(arch_window(_sm(item)) is not None for item in group)
        keys = [(Version(item.rstrip("af")), item) for item in group]
        assert keys == sorted(set(keys))
    letters = {item[-1] for item in row.archs if item[-1] in "af"}
    assert letters == set(row.suffixes)


def test_a_grammar_takes_every_architecture_of_its_form() -> None:
    """Whether torch names one or not: of all that toolkits know from 3.5 on, what fits can be said."""
    rows = facts(TorchArchs, "torch_archs", "archs")
    known = {item for row in rows for item in row.archs}

    assert {_sm(item) for item in known} >= {
        window for window in ("35", "61", "87", "90a", "103f", "107", "110f", "121a") if arch_window(window)
    }
    for row in rows:
        digits = max(len(item.partition(".")[0]) for item in row.archs)
        fitting = {
            item
            for item in known
            if len(item.partition(".")[0]) <= digits and (item[-1].isdigit() or item[-1] in row.suffixes)
        }
        assert set(row.archs) == fitting


@pytest.mark.parametrize(
    ("release", "arch", "can_say", "names"),
    [
        ("1.13.1", "8.9", True, False),
        ("2.3.1", "9.0a", False, True),
        ("2.5.1", "9.0a", True, True),
        ("2.5.1", "10.0", False, False),
        ("2.6.0", "12.0", True, False),
        ("2.7.1", "12.0", True, True),
        ("2.8.0", "10.0f", False, False),
        ("2.9.1", "10.0f", True, False),
        ("2.13.0", "10.7", True, False),
        ("2.14.1", "10.7", True, True),
    ],
)
def test_what_can_be_said_is_not_what_is_named(release: str, arch: str, can_say: bool, names: bool) -> None:
    """The list takes what fits its pattern, and the table for extensions has its own opinion."""
    row = torch_archs(release)

    assert row is not None
    assert (arch in row.archs, arch in row.named) == (can_say, names)


def test_every_toolkit_has_a_release_that_accepts_it() -> None:
    """From 11.0 on; an older one is of no use to any tree that is known."""
    for row in cuda_releases():
        takers = [line.minor for line in LINES if line.cuda and in_range(row.version, line.cuda)]
        assert takers
