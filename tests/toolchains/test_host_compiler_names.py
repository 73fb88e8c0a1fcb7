"""One host compiler under all its names."""

from __future__ import annotations

import pytest

from torchbuild.errors import ConflictError
from torchbuild.knowledge.tables import era_fact
from torchbuild.shim.cache import Entry
from torchbuild.shim.gate import compare
from torchbuild.toolchains.host_compiler_names import (
    allows_unsupported,
    check_names,
    compiler_environment,
    compiler_expectations,
)

CXX = "/usr/bin/cuda-g++"


def test_every_name_says_the_same() -> None:
    """CMake, legacy FindCUDA, nvcc and NCCL's make each find their own name set."""
    environ = compiler_environment("/usr/bin/cuda-gcc", CXX, {})

    assert environ.pop("CC") == "/usr/bin/cuda-gcc"
    assert environ.pop("NVCC_PREPEND_FLAGS") == f"-ccbin {CXX}", "nvcc 12.4 knows this name alone"
    assert set(environ) == {
        "CXX",
        "CUDAHOSTCXX",
        "CMAKE_CUDA_HOST_COMPILER",
        "CUDA_HOST_COMPILER",
        "NVCC_CCBIN",
    }
    assert set(environ.values()) == {CXX}


@pytest.mark.parametrize(
    ("own", "flags"),
    [("-lineinfo", f"-ccbin {CXX} -lineinfo"), (f"-lineinfo -ccbin {CXX}", f"-lineinfo -ccbin {CXX}")],
    ids=["flags", "compiler"],
)
def test_the_recipes_own_flags_for_nvcc_stay(own: str, flags: str) -> None:
    """They come after ours, and a compiler that they name stays the only one named."""
    assert compiler_environment("gcc", CXX, {"NVCC_PREPEND_FLAGS": own})["NVCC_PREPEND_FLAGS"] == flags


@pytest.mark.parametrize("era", ["setup-py", "scikit-build-core"])
def test_each_era_hands_on_what_cmake_must_have(era: str) -> None:
    """No definition is needed besides the environment."""
    assert all(era_fact(era).reaches(item.key) for item in compiler_expectations(CXX))


@pytest.mark.parametrize(
    ("cache", "outcomes"),
    [
        ({"CMAKE_CUDA_HOST_COMPILER": CXX, "CUDA_HOST_COMPILER": CXX}, ["passed", "passed"]),
        ({"CMAKE_CUDA_HOST_COMPILER": CXX, "CUDA_HOST_COMPILER": "/usr/bin/gcc"}, ["passed", "failed"]),
        ({"CMAKE_CUDA_HOST_COMPILER": "", "CUDA_HOST_COMPILER": CXX}, ["failed", "passed"]),
        ({}, ["failed", "failed"]),
    ],
    ids=["same", "legacy finder", "nvcc's default", "nothing"],
)
def test_the_gate_compares_each(cache: dict[str, str], outcomes: list[str]) -> None:
    """A name that was dropped on the way, or that a finder filled by itself, ends the build there."""
    entries = {name: Entry(type="FILEPATH", value=value) for name, value in cache.items()}
    rows = [item.model_dump() for item in compiler_expectations(CXX)]

    assert [item["outcome"] for item in compare(entries, rows)] == outcomes


@pytest.mark.parametrize(
    "settings",
    [
        {"CUDAHOSTCXX": "/usr/bin/g++-12"},
        {"CMAKE_CUDA_HOST_COMPILER": "g++"},
        {"NVCC_CCBIN": "/usr/bin"},
        {"TORCH_NVCC_FLAGS": "-Xfatbin -compress-all -ccbin /usr/bin/g++-12"},
        {"NVCC_PREPEND_FLAGS": "-ccbin=/usr/bin/g++-12"},
        {"CMAKE_CUDA_FLAGS": "--compiler-bindir g++-12"},
    ],
    ids=lambda item: next(iter(item)),
)
def test_a_second_compiler_is_refused(settings: dict[str, str]) -> None:
    """Before anything is fetched, with the setting that names it."""
    with pytest.raises(ConflictError) as caught:
        check_names(CXX, settings)

    assert caught.value.reference == "host-compiler-two"
    assert next(iter(settings)) in caught.value.why[0]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"CUDAHOSTCXX": CXX, "CMAKE_CUDA_HOST_COMPILER": "cuda-g++"},
        {"TORCH_NVCC_FLAGS": f"-ccbin {CXX}", "CFLAGS": "-ccbin nothing"},
        {"CUDAHOSTCXX": "/usr/bin/../bin/cuda-g++"},
    ],
    ids=["nothing", "the same", "a flag", "a way round"],
)
def test_the_same_compiler_twice_is_no_conflict(settings: dict[str, str]) -> None:
    """Whoever writes it out gets what they wrote."""
    check_names(CXX, settings)


def test_the_waiver_is_found_wherever_it_stands() -> None:
    """Flags for nvcc come in several variables."""
    assert allows_unsupported({"TORCH_NVCC_FLAGS": "-O2 -allow-unsupported-compiler"})
    assert allows_unsupported({"NVCC_PREPEND_FLAGS": "-allow-unsupported-compiler"})
    assert not allows_unsupported({"CXXFLAGS": "-allow-unsupported-compiler"})
