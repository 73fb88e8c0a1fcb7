"""What a recipe says of a library, and when two versions are one."""

from __future__ import annotations

import pytest

from tests.toolchains.library_samples import library, recipe
from torchbuild.toolchains.library_wish import cuda_major, library_of, numbers, same_release, version_wish


def test_what_a_recipe_says() -> None:
    """Table, release and CUDA."""
    wished = recipe(cuda="12.4.1", nccl=library("2.21.5"))

    assert cuda_major("nccl", wished) == "12"
    assert version_wish("nccl", wished) == "2.21.5"
    assert library_of("cudnn", wished) is None


@pytest.mark.parametrize(
    ("seen", "wanted", "same"),
    [
        ("9.1.0", "9.1.0.70", True),
        ("2.21.5", "2.21.5", True),
        ("2.26.2", "2.26.2.post1", True),
        ("2.21", "2.21.5", True),
        ("2.21.5", "2.22.3", False),
        ("2.2", "2.21.5", False),
        ("", "2.21.5", False),
        ("?", "?", False),
    ],
)
def test_versions_agree_as_far_as_both_go(seen: str, wanted: str, *, same: bool) -> None:
    """A header has three numbers where the index has four; nothing agrees with nothing."""
    assert same_release(seen, wanted) is same


@pytest.mark.parametrize(
    ("version", "found"),
    [("2.21.5-1", (2, 21, 5)), ("8.5rc1", (8, 5)), ("x", ()), ("1." + "9" * 5000, (1,)), ("", ())],
)
def test_numbers_of_anything(version: str, found: tuple[int, ...]) -> None:
    """Whatever a stranger's file says, it is read as far as it is a version."""
    assert numbers(version) == found


def test_what_the_rules_refuse_is_a_mistake_of_ours_here() -> None:
    """No toolkit, or no version: a recipe like that never comes so far."""
    with pytest.raises(ValueError, match="without"):
        cuda_major("nccl", recipe(cuda="", nccl=library("2.21.5")))
    with pytest.raises(ValueError, match="without"):
        version_wish("nccl", recipe(cuda="12.4.1", nccl=library("")))
