"""Tables of the toolkit and its libraries that go together."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.model.recipe import Recipe
from torchbuild.resolve.toolchain_rules import toolchain_problems

LEAST: dict[str, Any] = {
    "schema": 1,
    "name": "r",
    "source": {"path": "tree"},
    "wheel": {"version": "2.6.0"},
    "cuda": {"version": "12.4.1", "from": "redist", "archs": ("9.0",)},
}
RUNFILE = {"version": "12.4.1", "archs": ("9.0",), "from": "runfile"}
TARBALL = {"version": "2.21.5", "from": "tarball"}


def wrong(**tables: Any) -> list[str]:
    """Paths of the problems of a recipe with these tables."""
    return [item.path for item in toolchain_problems(Recipe.model_validate(LEAST | tables))]


def test_a_good_recipe_has_none() -> None:
    """Each provider with what it needs."""
    assert wrong() == []
    assert wrong(nccl={"version": "2.21.5"}, cudnn={"version": "9.1.0.70", "from": "tarball"}) == []
    assert wrong(nccl={"from": "bundled"}, magma={"from": "system", "path": "/opt/magma"}) == []
    assert wrong(blas={"provider": "mkl", "from": "wheels", "version": "2024.2.2"}) == []


@pytest.mark.parametrize(
    ("tables", "path"),
    [
        ({"cuda": {"version": "12.4.1"}}, "cuda.archs"),
        ({"cuda": {"version": "12.4.1", "archs": ("9.0", "9.0+PTX")}}, "cuda.archs[1]"),
        ({"cuda": {"version": "12.4.1", "archs": ("9.0",), "path": "/usr/local/cuda"}}, "cuda.path"),
        ({"cuda": {"version": "12.4.1", "archs": ("9.0",), "from": "system"}}, "cuda.path"),
        (
            {"cuda": {"version": "12.4.1", "archs": ("9.0",), "from": "system", "path": "/torchbuild/store"}},
            "cuda.path",
        ),
        ({"cuda": RUNFILE | {"archive": ""}}, "cuda.archive"),
        ({"cuda": RUNFILE | {"archive": "./cuda_12.4.1_550.54.15_linux.run"}}, "cuda.archive"),
        ({"cuda": RUNFILE | {"archive": "https://bob:s3cret@example.org/x.run"}}, "cuda.archive"),
        ({"cuda": {"version": "12.4.1", "archs": ("9.0",), "archive": "nvidia:x"}}, "cuda.archive"),
        ({"nccl": {}}, "nccl.version"),
        ({"nccl": {"from": "bundled", "version": "2.21.5"}}, "nccl.version"),
        ({"nccl": {"version": "2.21.5", "path": "/usr"}}, "nccl.path"),
        ({"nccl": {"from": "system", "path": "/torchbuild"}}, "nccl.path"),
        ({"nccl": TARBALL | {"archive": ""}}, "nccl.archive"),
        ({"nccl": TARBALL | {"archive": "https://example.org/x.txz?token=s3cret"}}, "nccl.archive"),
        ({"cudnn": {"version": "9.1", "from": "tarball", "archive": "/opt/cudnn.txz"}}, "cudnn.archive"),
        ({"nccl": {"version": "2.21.5", "sha256": "0" * 64}}, "nccl.sha256"),
        ({"cudnn": {"version": "9.1", "from": "source"}}, "cudnn.from"),
        ({"cudnn": {"from": "bundled"}}, "cudnn.from"),
        ({"magma": {"version": "2.6.1"}}, "magma.from"),
        ({"build": {"flags": {"USE_CUDA": False}}}, "build.flags.USE_CUDA"),
        ({"nccl": {"version": "2.21.5"}, "build": {"flags": {"USE_NCCL": "0"}}}, "build.flags.USE_NCCL"),
        (
            {"nccl": {"from": "bundled"}, "build": {"flags": {"USE_SYSTEM_NCCL": 1}}},
            "build.flags.USE_SYSTEM_NCCL",
        ),
        ({"build": {"env": {"CUDA_HOME": "/opt"}}}, "build.env.CUDA_HOME"),
        ({"build": {"cmake": {"TORCH_CUDA_ARCH_LIST": "9.0"}}}, "build.cmake.TORCH_CUDA_ARCH_LIST"),
        ({"build": {"cmake": {"CMAKE_CUDA_ARCHITECTURES": "90"}}}, "build.cmake.CMAKE_CUDA_ARCHITECTURES"),
        ({"build": {"cmake": {"CMAKE_CUDA_COMPILER": "/x"}}}, "build.cmake.CMAKE_CUDA_COMPILER"),
        ({"build": {"cmake": {"CMAKE_CUDA_HOST_COMPILER": "g"}}}, "build.cmake.CMAKE_CUDA_HOST_COMPILER"),
        ({"blas": {"version": "1"}}, "blas.version"),
        ({"blas": {"path": "/opt/blas"}}, "blas.path"),
        ({"blas": {"from": "path", "path": "/torchbuild/parts/blas"}}, "blas.path"),
        ({"openmp": {"path": "/opt/omp"}}, "openmp.path"),
        ({"openmp": {"from": "path"}}, "openmp.path"),
    ],
)
def test_each_contradiction_is_told_where_it_stands(tables: dict[str, Any], path: str) -> None:
    """A key that would have no effect, and two that say the opposite, are refused before anything is asked."""
    assert wrong(**tables) == [path]


def test_a_library_of_the_toolkit_needs_the_toolkit() -> None:
    """NCCL without CUDA would be left out by the tree without a word."""
    plain = {key: value for key, value in LEAST.items() if key != "cuda"}
    recipe = Recipe.model_validate(plain | {"nccl": {"version": "2.21.5"}})

    assert [item.path for item in toolchain_problems(recipe)] == ["nccl"]


@pytest.mark.parametrize("value", [True, 1, "ON", "yes"])
def test_cuda_without_its_table_is_refused(value: object) -> None:
    """Else CMake would search by itself, and whatever toolkit it finds would be in the wheel and in no lock."""
    plain = {key: value for key, value in LEAST.items() if key != "cuda"}
    recipe = Recipe.model_validate(plain | {"build": {"flags": {"USE_CUDA": value}}})

    (problem,) = toolchain_problems(recipe)
    assert problem.path == "build.flags.USE_CUDA"
    assert "[cuda]" in problem.wanted


def test_a_toolkit_of_the_recipe_has_a_digest_of_the_recipe() -> None:
    """With or without an address: the known installer's bytes are then compared with it."""
    assert wrong(cuda=RUNFILE | {"sha256": "0" * 64}) == []
    assert wrong(cuda=RUNFILE | {"sha256": "0" * 64, "archive": "file:cuda.run"}) == []


def test_a_cpu_recipe_may_name_what_it_likes() -> None:
    """Without the table nothing else sets these variables."""
    plain = {key: value for key, value in LEAST.items() if key != "cuda"}
    recipe = Recipe.model_validate(plain | {"build": {"env": {"CUDA_HOME": "/opt"}}})

    assert list(toolchain_problems(recipe)) == []


@pytest.mark.parametrize(
    ("tables", "path"),
    [
        (
            {"blas": {"provider": "mkl", "from": "wheels"}, "build": {"env": {"MKL_ROOT": "/opt"}}},
            "build.env.MKL_ROOT",
        ),
        (
            {
                "openmp": {"provider": "iomp", "from": "wheels"},
                "build": {"cmake": {"CMAKE_LIBRARY_PATH": "/opt"}},
            },
            "build.cmake.CMAKE_LIBRARY_PATH",
        ),
    ],
)
def test_what_a_table_of_algebra_sets_is_set_once(tables: dict[str, Any], path: str) -> None:
    """Else the build would be told one value, and the gate would expect the other."""
    assert path in wrong(**tables)
