"""What is known of host compilers: each fact with its source, and no gap between ranges."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

import pytest

from torchbuild.knowledge.fact import in_range
from torchbuild.knowledge.host_compilers import (
    extension_fact,
    glibc_facts,
    nvcc_fact,
    packages_fact,
    pair_facts,
    torch_fact,
)

TABLE: dict[str, list[dict[str, Any]]] = tomllib.loads(
    (files("torchbuild.knowledge") / "data" / "host_compilers.toml").read_text(encoding="utf-8")
)
ROWS = [(f"{name}-{index}", row) for name, rows in TABLE.items() for index, row in enumerate(rows)]
TOOLKITS = [
    *("11.0.3", "11.1.1", "11.2.2", "11.3.1", "11.4.0", "11.4.1", "11.5.2", "11.6.2", "11.7.1", "11.8.0"),
    *("12.0.1", "12.1.1", "12.2.2", "12.3.2", "12.4.1", "12.5.1", "12.6.3", "12.8.1", "12.9.1"),
    *("13.0.2", "13.1.1", "13.2.2", "13.3.1", "13.4.0", "13.5.0"),
]
TORCHES = ["1.13.1", "2.0.1", *(f"2.{minor}.0" for minor in range(1, 16))]


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[name for name, _ in ROWS])
def test_every_fact_says_where_it_is_from(name: str, row: dict[str, Any]) -> None:
    """No row without its source and the day on which it was read."""
    assert len(row["source"]) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row["checked"])


def test_what_nobody_read_says_so() -> None:
    """A row from memory, or of releases that were not read alone, is not passed off as read."""
    wrong = [name for name, row in ROWS if "memory" in row["source"] and row["checked"] != "unconfirmed"]

    assert wrong == ["packages-0"], "bookworm's compilers were read; its toolkit's package was not"


@pytest.mark.parametrize("cuda", TOOLKITS)
def test_each_toolkit_has_one_limit(cuda: str) -> None:
    """Every release that a recipe can name is in exactly one range, and a newer one takes no less."""
    assert sum(in_range(cuda, row["cuda"]) for row in TABLE["nvcc"]) == 1
    older = TOOLKITS[max(TOOLKITS.index(cuda) - 1, 0)]
    now, before = nvcc_fact(cuda), nvcc_fact(older)
    assert now is not None
    assert before is not None
    assert int(now.gcc.strip("<")) >= int(before.gcc.strip("<"))
    assert int(now.clang.strip("<")) >= int(before.clang.strip("<"))


@pytest.mark.parametrize("torch", TORCHES)
def test_each_torch_has_one_minimum(torch: str) -> None:
    """Every release is in exactly one range, of the tree's and of its table for extensions."""
    assert sum(in_range(torch, row["torch"]) for row in TABLE["torch"]) == 1
    assert sum(in_range(torch, row["torch"]) for row in TABLE["extension"]) == 1
    assert torch_fact(torch) is not None
    assert extension_fact(torch) is not None


@pytest.mark.parametrize(
    ("torch", "gcc", "standard"),
    [
        ("1.13.1", ">=7", "14"),
        ("2.6.0", ">=9.3", "17"),
        ("2.13.0", ">=11.3", "20"),
        ("2.15.0", ">=11.3", "20"),
    ],
)
def test_a_release_has_its_standard(torch: str, gcc: str, standard: str) -> None:
    """C++14, 17 and 20 in their turn, each with a gcc that knows it."""
    fact = torch_fact(torch)

    assert fact is not None
    assert (fact.gcc, fact.standard) == (gcc, standard)


@pytest.mark.parametrize(
    ("version", "wanted", "inside"),
    [
        ("13.3.0", "<14", True),
        ("14.0.0", "<14", False),
        ("14", "", True),
        ("2.13.0a0+git1234", ">=2.13", True),
        ("2.6.0.dev20240923", "<2.6", False),
        ("nonsense", "<14", False),
        ("", "<14", False),
    ],
)
def test_a_range_takes_what_it_says(version: str, wanted: str, inside: bool) -> None:
    """A version on its way to a release is that release; what is no version is in no range."""
    assert in_range(version, wanted) is inside


def test_nobody_knows_what_nobody_read() -> None:
    """A toolkit or a distribution without a row is not guessed."""
    assert nvcc_fact("10.2") is None
    assert nvcc_fact("14.0") is None
    assert packages_fact("plan9", "4") is None
    assert packages_fact("debian", "1") is None, "12 begins with 1, and is another release"


@pytest.mark.parametrize(
    ("gcc", "cuda", "torch", "machine", "names"),
    [
        ("11.2.0", "11.5.2", "1.13.1", "x86_64", ["gcc-11-parameter-packs"]),
        ("10.3.0", "11.3.1", "1.13.1", "x86_64", ["gcc-10-headers"]),
        ("10.2.1", "13.0.2", "2.9.0", "x86_64", ["gcc-10-cccl"]),
        ("11.5.0", "", "2.6.0", "aarch64", ["gcc-11.5-sve"]),
        ("11.4.0", "", "2.6.0", "aarch64", []),
        ("11.5.0", "", "2.6.0", "x86_64", []),
        ("13.1.0", "12.6.3", "2.8.0", "aarch64", ["gcc-13.1-bf16"]),
        ("12.2.0", "13.0.2", "2.14.1", "x86_64", ["newest-torch-gcc-13"]),
        ("13.3.0", "12.4.1", "2.6.0", "x86_64", []),
    ],
)
def test_pairs_that_break_are_known(gcc: str, cuda: str, torch: str, machine: str, names: list[str]) -> None:
    """By all four: the compiler's full version, the toolkit, the tree and the processor."""
    assert [row.name for row in pair_facts(gcc, cuda=cuda, torch=torch, machine=machine)] == names


@pytest.mark.parametrize(
    ("cuda", "glibc", "known"),
    [
        ("12.9.1", "2.41", 1),
        ("11.4.1", "2.34", 1),
        ("12.9.1", "2.40", 0),
        ("13.0.2", "2.41", 0),
        ("13.0.2", "2.42", 1),
        ("13.2.0", "2.42", 0),
    ],
)
def test_headers_that_contradict_are_known(cuda: str, glibc: str, known: int) -> None:
    """Old toolkits on new C libraries."""
    assert len(glibc_facts(cuda, glibc)) == known


@pytest.mark.parametrize("row", TABLE["packages"], ids=lambda row: f"{row['ids'][0]}-{row['release']}")
def test_a_distribution_has_a_command(row: dict[str, Any]) -> None:
    """What to install can be pasted."""
    fact = packages_fact(row["ids"][0], row["release"])

    assert fact is not None
    assert fact.gcc == tuple(sorted(fact.gcc, key=int))
    assert fact.gcc[0] in fact.install.format(gcc=fact.gcc[0])
    assert fact.program.format(gcc="13") != fact.program
