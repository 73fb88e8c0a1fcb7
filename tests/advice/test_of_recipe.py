"""A recipe's tables as a wish."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.advice.of_recipe import builder_glibc, gcc_of, has_wish, lowest_driver, wish_of
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.distributions import distributions
from torchbuild.model.recipe import Recipe

LEAST: dict[str, Any] = {
    "schema": 1,
    "name": "r",
    "source": {"path": "tree"},
    "wheel": {"version": "2.6.0"},
}
CUDA: dict[str, Any] = {"version": "12.4.1", "archs": ("6.1", "8.6+PTX")}


def recipe(**tables: Any) -> Recipe:
    """A recipe with these tables."""
    return Recipe.model_validate(LEAST | tables)


def test_a_recipe_without_a_toolkit_wants_a_wheel_for_the_cpu() -> None:
    """Its target may have GPUs: the wheel does not use them, and no driver forbids it."""
    found = wish_of(recipe(target={"gpus": ("GTX 1080 Ti",), "driver": ">=470"}))

    assert found == Wish(torch="2.6.0")


def test_every_table_that_facts_speak_of_is_in_the_wish() -> None:
    """Target, toolkit, libraries, interpreter and compiler, as the recipe has them."""
    found = wish_of(
        recipe(
            target={
                "gpus": ("GTX 1080 Ti", "sm_86"),
                "driver": ">=525,<580",
                "kernel_modules": "proprietary",
                "forward_compat": True,
                "glibc": "2.28",
                "machine": "aarch64",
            },
            python={"version": "3.13t"},
            toolchain={"cc": "gcc-12", "cxx": "/usr/bin/g++-12"},
            cuda=CUDA,
            cudnn={"version": "9.1.0.70"},
            nccl={"from": "bundled"},
        )
    )

    assert found == Wish(
        torch="2.6.0",
        gpus=("GTX 1080 Ti", "sm_86"),
        driver="525",
        modules="proprietary",
        forward_compat=True,
        machine="aarch64",
        glibc="2.28",
        python="3.13t",
        cuda="12.4.1",
        archs=("6.1", "8.6+PTX"),
        cudnn="9.1.0.70",
        nccl="",
        gcc="12",
    )


def test_a_library_without_a_table_is_off() -> None:
    """What a recipe does not name is not built, so no fact about it forbids anything."""
    found = wish_of(recipe(cuda=CUDA))

    assert (found.cudnn, found.nccl) == ("none", "none")


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("g++", ""),
        ("gcc-12", "12"),
        ("g++-13.3", "13.3"),
        ("/opt/gcc/bin/x86_64-linux-gnu-g++-11", "11"),
        ("clang++-18", ""),
        ("g++-mine", ""),
        ("notg++-12", ""),
    ],
)
def test_a_compiler_is_known_by_its_name(program: str, expected: str) -> None:
    """Where the name does not say the version, nothing is guessed."""
    assert gcc_of(program) == expected


def test_the_suite_of_the_image_says_the_builders_c_library() -> None:
    """Each suite that is known has one; without an image, or of another suite, nobody knows it."""
    for row in distributions():
        if row.suite:
            made = recipe(image={"name": "b", "suite": row.suite}, cuda=CUDA | {"from": "redist"})
            assert builder_glibc(made) == wish_of(made).builder_glibc == row.glibc
    assert builder_glibc(recipe()) == builder_glibc(recipe(image={"name": "b", "suite": "hamm"})) == ""


def test_a_toolkit_of_the_builder_goes_with_the_builders_headers() -> None:
    """A distribution mends its own toolkit for its own headers: facts about the plain one say nothing of it."""
    suite = next(row.suite for row in distributions() if row.suite)
    made = recipe(image={"name": "b", "suite": suite}, cuda=CUDA | {"from": "apt"})

    assert wish_of(made).builder_glibc == ""


def test_the_lowest_driver_counts() -> None:
    """A wheel must run on the oldest driver that the target may have."""
    assert [lowest_driver(text) for text in (None, "535", ">=535", "==535.129.03", ">=525,<580")] == [
        "",
        "535",
        "535",
        "535.129.03",
        "525",
    ]


def test_the_facts_speak_of_torch_alone() -> None:
    """Another package has versions and needs of its own."""
    assert has_wish(recipe())
    assert not has_wish(recipe(wheel={"package": "torchlet", "version": "2.6.0"}))
