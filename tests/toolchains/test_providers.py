"""Who provides what."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Blas, Cuda, Library, Openmp
from torchbuild.resolve.toolchain_rules import toolchain_problems
from torchbuild.toolchains.providers import providers_of
from torchbuild.toolchains.wished import LIBRARIES

LEAST: dict[str, Any] = {
    "schema": 1,
    "name": "r",
    "source": {"path": "tree"},
    "wheel": {"version": "2.6.0"},
    "cuda": {"version": "12.4.1", "archs": ("9.0",)},
}


def recipe(**tables: Any) -> Recipe:
    """A recipe with further tables."""
    return Recipe.model_validate(LEAST | tables)


def sources(table: Any) -> list[str]:
    """The words of a table's ``from``."""
    return list(get_args(table.model_fields["source"].annotation))


@pytest.mark.parametrize("source", sources(Cuda))
def test_each_way_to_a_toolkit_has_a_provider(source: str) -> None:
    """A word that the recipe may hold is acted on."""
    asked = recipe(cuda=LEAST["cuda"] | {"from": source})

    assert list(providers_of(asked)) == ["cuda"]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("source", sources(Library))
def test_each_way_to_a_library_has_a_provider_or_is_refused(name: str, source: str) -> None:
    """No combination ends in a fault of the program."""
    version = {} if source in ("bundled", "system") else {"version": "1.0"}
    asked = recipe(**{name: {"from": source} | version})

    if list(toolchain_problems(asked)):
        return
    assert list(providers_of(asked)) == (["cuda"] if source == "bundled" else ["cuda", name])


@pytest.mark.parametrize("source", sources(Blas))
def test_a_blas_of_the_builder_is_no_part(source: str) -> None:
    """It belongs to the distribution; any other is laid and proven."""
    asked = recipe(blas={"from": source, "path": "/opt/blas" if source == "path" else None})

    assert ("blas" in providers_of(asked)) == (source != "system")


@pytest.mark.parametrize("source", sources(Openmp))
def test_a_runtime_that_is_asked_for_is_proven(source: str) -> None:
    """From wherever it comes."""
    assert "openmp" in providers_of(recipe(openmp={"from": source}))


def test_parts_are_laid_in_one_order() -> None:
    """The toolkit first: libraries are proven against it; a BLAS against the runtime that it calls."""
    tables = {
        "blas": {"from": "wheels", "provider": "mkl"},
        "cudnn": {"version": "9"},
        "nccl": {"version": "2"},
    }

    tables |= {"openmp": {"from": "wheels", "provider": "iomp"}}

    assert list(providers_of(recipe(**tables))) == ["cuda", "nccl", "cudnn", "openmp", "blas"]
