"""What a recipe's tables ask for."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.wished import arch_list, table_flags, wished_part, wished_parts

LEAST: dict[str, Any] = {
    "schema": 1,
    "name": "r",
    "source": {"path": "tree"},
    "wheel": {"version": "2.6.0"},
    "cuda": {"version": "12.4.1", "from": "apt", "archs": ("7.5", "9.0a", "8.6+PTX")},
}


def recipe(**tables: Any) -> Recipe:
    """A recipe with further tables."""
    return Recipe.model_validate(LEAST | tables)


def test_a_part_of_ours_has_its_own_place_and_one_of_the_builder_its_own() -> None:
    """A library that the build brings never lies where the distribution's could."""
    parts = wished_parts(recipe(nccl={"version": "2.21.5"}, magma={"from": "system", "path": "/opt/magma"}))

    assert [(part.name, part.prefix) for part in parts] == [
        ("cuda", "/usr"),
        ("nccl", "/torchbuild/parts/nccl"),
        ("magma", "/opt/magma"),
    ]


def test_what_the_tree_brings_lies_in_its_build() -> None:
    """A bundled NCCL is the tree's own; the switch says so."""
    bundled = recipe(nccl={"from": "bundled"})
    part = wished_part(bundled, "nccl")

    assert part is not None
    assert (part.provider, part.prefix) == ("bundled", "/torchbuild/source/build/nccl")
    assert table_flags(bundled)["USE_SYSTEM_NCCL"] == ("OFF", "nccl.from")


@pytest.mark.parametrize(
    ("table", "switch"),
    [("cudnn", "USE_CUDNN"), ("nccl", "USE_NCCL"), ("cusparselt", "USE_CUSPARSELT"), ("magma", "USE_MAGMA")],
)
def test_a_table_turns_its_switch_on(table: str, switch: str) -> None:
    """Who asks for a library has asked for the feature."""
    assert table_flags(recipe(**{table: {"version": "1"}}))[switch] == ("ON", table)
    assert switch not in table_flags(recipe())


def test_a_cpu_build_has_neither() -> None:
    """Nothing of CUDA is told to a tree that is built without."""
    plain = Recipe.model_validate({key: value for key, value in LEAST.items() if key != "cuda"})

    assert (wished_parts(plain), table_flags(plain), arch_list(plain)) == ((), {}, "")


def test_architectures_are_told_as_torch_reads_them() -> None:
    """One list, in the recipe's order."""
    assert arch_list(recipe()) == "7.5;9.0a;8.6+PTX"
