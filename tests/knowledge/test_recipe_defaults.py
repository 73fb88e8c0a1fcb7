"""What a new recipe begins with."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from torchbuild.knowledge.fact import facts_file
from torchbuild.knowledge.recipe_defaults import (
    image_packages,
    outside_libraries,
    source_fact,
    wheel_requires,
)
from torchbuild.knowledge.torch_releases import torch_lines


def test_every_row_says_where_it_is_from() -> None:
    """And when somebody read it, or that nobody did."""
    tables = facts_file("recipe_defaults")
    rows = [tables["upstream"], *tables["package"], *tables["outside"], *tables["requires"]]

    assert all(len(row["source"]) > 10 and row["checked"] for row in rows)


def test_a_release_is_a_tag_of_the_repository() -> None:
    """As upstream tags them."""
    fact = source_fact()

    assert fact.git.startswith("https://")
    assert fact.tag.format(release="2.6.0") == "v2.6.0"


def test_an_image_has_the_compiler_that_was_chosen() -> None:
    """By its major release; without one, what the distribution has by itself."""
    assert [row.name for row in image_packages("12")][1:3] == ["gcc-12", "g++-12"]
    assert all("{" not in row.name for row in image_packages(""))
    assert "libopenblas-dev" in [row.name for row in image_packages("12", "openblas")]
    assert "libopenblas-dev" not in [row.name for row in image_packages("12", "mkl")]


@pytest.mark.parametrize("line", [row.minor for row in torch_lines()])
def test_what_a_wheel_requires_is_known_and_can_be_read(line: str) -> None:
    """Of each known release, as PEP 508 strings without an address, sorted."""
    row = wheel_requires(f"{line}.0")

    assert row is not None
    assert list(row.requires) == sorted(row.requires)
    assert all(Requirement(text).url is None for text in row.requires)


@pytest.mark.parametrize(
    ("part", "release", "expected"),
    [
        ("cuda", "11.8.0", "libcudart.so.11.0"),
        ("cuda", "12.6.3", "libcudart.so.12"),
        ("cuda", "13.0.2", "libcudart.so.13"),
        ("cudnn", "8.9.7.29", "libcudnn.so.8"),
        ("cudnn", "9.1.0.70", "libcudnn.so.9"),
        ("nccl", "2.21.5", "libnccl.so.2"),
        ("compiler", "", "libgomp.so.1"),
    ],
)
def test_what_stays_outside_is_known_by_name(part: str, release: str, expected: str) -> None:
    """By the release of the part: its libraries are named after it."""
    row = outside_libraries(part, release)

    assert row is not None
    assert expected in row.libraries


def test_what_nobody_knows_is_nothing() -> None:
    """A part or a release that no row has."""
    assert outside_libraries("banana") is None
    assert outside_libraries("cuda", "99.0") is None
    assert wheel_requires("1.0") is None
