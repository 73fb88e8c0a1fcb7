"""What a target installs does not depend on the machine that asks."""

from __future__ import annotations

import pytest
from packaging.tags import Tag

from torchbuild.edges.wheel_tags import python_platform, target_tags
from torchbuild.errors import RecipeError


@pytest.mark.parametrize(
    ("glibc", "platform"),
    [
        ("2.17", "2_17"),
        ("2.27", "2_17"),
        ("2.28", "2_28"),
        ("2.30", "2_28"),
        ("2.36", "2_36"),
        ("2.99", "2_40"),
    ],
)
def test_the_resolver_is_told_no_newer_libc(glibc: str, platform: str) -> None:
    """The platform given to the resolver is the newest that the target has, never a newer one."""
    assert python_platform("aarch64", glibc) == f"aarch64-manylinux_{platform}"


@pytest.mark.parametrize(
    ("glibc", "reference"), [("2.12", "glibc-too-old"), ("3.0", "glibc-invalid"), ("x", "glibc-invalid")]
)
def test_a_libc_that_is_none_is_said_so(glibc: str, reference: str) -> None:
    """What the resolver cannot resolve for is the recipe's to correct."""
    with pytest.raises(RecipeError) as caught:
        python_platform("x86_64", glibc)
    assert caught.value.reference == reference


def test_better_tags_rank_first() -> None:
    """The own interpreter before the stable ABI before pure Python; the newer platform before the older."""
    tags = target_tags("3.13.5", "x86_64", "2.36")
    order = [
        Tag("cp313", "cp313", "manylinux_2_36_x86_64"),
        Tag("cp313", "cp313", "manylinux_2_17_x86_64"),
        Tag("cp313", "cp313", "manylinux2014_x86_64"),
        Tag("cp313", "abi3", "manylinux_2_28_x86_64"),
        Tag("cp39", "abi3", "manylinux_2_28_x86_64"),
        Tag("py3", "none", "any"),
    ]
    assert sorted(order, key=tags.__getitem__) == order


@pytest.mark.parametrize(
    "tag",
    [
        Tag("cp313", "cp313", "manylinux_2_37_x86_64"),
        Tag("cp313", "cp313", "manylinux_2_28_aarch64"),
        Tag("cp313", "cp313", "musllinux_1_2_x86_64"),
        Tag("cp312", "cp312", "manylinux_2_28_x86_64"),
        Tag("cp313", "cp313t", "manylinux_2_28_x86_64"),
        Tag("py2", "none", "any"),
    ],
)
def test_what_the_target_cannot_run_has_no_rank(tag: Tag) -> None:
    """A newer libc, another processor, another libc, another interpreter: none is taken."""
    assert tag not in target_tags("3.13", "x86_64", "2.36")


def test_old_platforms_exist_only_where_they_did() -> None:
    """x86_64 takes wheels of 2010; aarch64 never had them."""
    assert Tag("cp313", "cp313", "manylinux1_x86_64") in target_tags("3.13", "x86_64", "2.28")
    assert Tag("cp313", "cp313", "manylinux2010_aarch64") not in target_tags("3.13", "aarch64", "2.28")
