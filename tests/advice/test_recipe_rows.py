"""The lines of a new recipe."""

from __future__ import annotations

import re

import pytest

from torchbuild.advice.like_line import LikeLine
from torchbuild.advice.recipe_rows import default_name, merged_rows, recipe_rows
from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.distributions import distributions

PASCAL = Wish(torch="2.6", gpus=("GTX 1080 Ti",), driver="570", glibc="2.36")


def rows(wish: Wish) -> dict[str, LikeLine]:
    """The lines of a wish that can be, by key."""
    return {row.key: row for row in recipe_rows(solve(wish), "r")}


def test_every_choice_is_a_line() -> None:
    """Nothing that was chosen is lost on the way to the file."""
    found, advice = rows(PASCAL), solve(PASCAL)

    assert {item.key for item in advice.choices} <= set(found)
    assert found["cuda.archs"].value == ("6.1+PTX",)
    assert found["cuda.version"].value == advice.value("cuda.version")


def test_a_reason_names_the_facts_and_how_many_more_there_are() -> None:
    """Two facts with their date; the rest is for `torchbuild explain`."""
    first, *facts = rows(PASCAL)["cuda.version"].comment.split("\n")

    assert first.startswith("it is the newest that torch was released with")
    assert all(re.search(r"\[\w+\.\w+ .*, (\d{4}-\d\d-\d\d|unconfirmed)\]$", fact) for fact in facts[:2])


def test_compiler_image_and_packages_are_one() -> None:
    """The gcc that toolkit and torch take is the one that the image has, by name."""
    found = rows(PASCAL)
    major = found["toolchain.cxx"].value.removeprefix("g++-")

    assert found["toolchain.cc"].value == f"gcc-{major}"
    assert {f"gcc-{major}", f"g++-{major}"} <= set(found["image.packages"].value)
    assert found["image.name"].value.endswith(f"{found['image.suite'].value}-gcc{major}")


def test_an_image_is_never_newer_than_the_target() -> None:
    """The wheel must start on the target's C library."""
    for glibc in ("2.28", "2.31", "2.36", "2.41"):
        found = rows(PASCAL.model_copy(update={"glibc": glibc}))
        suite = found["image.suite"].value if "image.suite" in found else ""
        have = next((row.glibc for row in distributions() if suite and row.suite == suite), "0.0")
        assert tuple(map(int, have.split("."))) <= tuple(map(int, glibc.split(".")))


def test_a_wheel_with_cuda_is_read_and_not_imported() -> None:
    """Its libraries are the target's; the line says how to have it otherwise."""
    found = rows(PASCAL)

    assert found["verify.level"].value == "static"
    assert '"cpu"' in found["verify.level"].comment
    assert "libcudart.so.12" in found["wheel.system_libraries"].value


def test_a_wheel_for_the_cpu_is_used_before_it_is_published() -> None:
    """What it requires is known, so that it can be installed and run."""
    found = rows(Wish(torch="2.6"))

    assert found["verify.level"].value == "cpu"
    assert "svd" in found["verify.require"].value
    assert 'sympy==1.13.1; python_version >= "3.9"' in found["wheel.requires"].value
    assert found["wheel.system_libraries"].value == ("libgomp.so.1",)


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (PASCAL, "torch-2.6.0-cu126-gtx-1080-ti"),
        (Wish(torch="2.6"), "torch-2.6.0-cpu"),
        (
            PASCAL.model_copy(update={"gpus": ("sm_61", "GeForce GTX 1080 (Max-Q) ☃")}),
            "torch-2.6.0-cu126-sm-61-geforce-gtx-1080-max-q",
        ),
    ],
)
def test_a_name_says_what_it_is_for(wish: Wish, expected: str) -> None:
    """In letters that a recipe's name may have, whatever a GPU is called."""
    assert default_name(solve(wish)) == expected


def test_what_is_laid_over_takes_the_place_of_a_line() -> None:
    """Where it stood; what is new comes last."""
    one, two, other = (LikeLine(key="a", value=1), LikeLine(key="b", value=2), LikeLine(key="a", value=3))
    new = LikeLine(key="c", value=4)

    assert merged_rows((one, two), (other, new)) == (other, two, new)
