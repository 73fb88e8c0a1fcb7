"""How toolkit and libraries are handed to a build, and what a real cache must then hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torchbuild.knowledge.tables import era_fact
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.parts_handed import (
    by_name,
    parts_definitions,
    parts_environment,
    parts_expectations,
    parts_or_wished,
)
from torchbuild.shim.cache import Entry, parse_cache
from torchbuild.shim.gate import compare

CACHE = Path(__file__).parents[1] / "data" / "caches" / "torch-2.6-cu124.txt"
COMPILERS = {"CC": "/usr/bin/cuda-gcc", "CXX": "/usr/bin/cuda-g++", "LAUNCHER": "/usr/bin/ccache"}
LEAST: dict[str, Any] = {
    "schema": 1,
    "name": "r",
    "source": {"path": "tree"},
    "wheel": {"version": "2.6.0"},
    "cuda": {"version": "12.4", "from": "apt", "archs": ("9.0+PTX",)},
    "nccl": {"version": "2.21.5"},
    "cudnn": {"version": "9.1.0.70"},
}
NCCL = "/torchbuild/parts/nccl"


def recipe(**tables: Any) -> Recipe:
    """The recipe of the recorded cache, with other tables."""
    return Recipe.model_validate({key: value for key, value in (LEAST | tables).items() if value is not None})


def environment(**tables: Any) -> dict[str, str]:
    """The variables of such a build."""
    asked = recipe(**tables)
    return parts_environment(asked, parts_or_wished(asked, None), COMPILERS)


def refused(asked: Recipe | None = None, **changed: str | None) -> set[str]:
    """Entries that the gate refuses in the recorded cache, with other values for some."""
    asked = asked or recipe()
    cache = parse_cache(CACHE.read_text(encoding="utf-8"))
    for name, value in changed.items():
        if value is None:
            del cache[name]
        else:
            kind = cache[name].type if name in cache else "FILEPATH"
            cache[name] = Entry(kind, value)
    rows = parts_expectations(asked, parts_or_wished(asked, None), COMPILERS, ())
    findings = compare(cache, [row.model_dump() for row in rows])
    return {item["what"].partition(" ")[0] for item in findings if item["outcome"] == "failed"}


def test_one_toolkit_has_one_path_under_all_names() -> None:
    """Whoever looks for CUDA, by whatever name, finds the same."""
    found = environment()

    assert {found[name] for name in ("CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT")} == {"/usr"}
    assert {found[name] for name in ("CUDACXX", "CMAKE_CUDA_COMPILER", "CUDA_NVCC_EXECUTABLE")} == {
        "/usr/bin/nvcc"
    }
    assert {found[name] for name in ("CUDAHOSTCXX", "CUDA_HOST_COMPILER", "NVCC_CCBIN")} == {
        "/usr/bin/cuda-g++"
    }
    assert found["TORCH_CUDA_ARCH_LIST"] == "9.0+PTX"


def test_our_ninja_stays_first_and_the_toolkit_comes_before_the_system() -> None:
    """The gate's own ninja may not be overtaken by a toolkit; a toolkit's nvcc not by the system's."""
    ours = environment(cuda={"version": "13.0.2", "from": "wheels", "archs": ("9.0",)})

    assert ours["PATH"] == "{venv}/bin:/torchbuild/parts/cuda/bin:/usr/local/bin:/usr/bin:/bin"
    assert environment()["PATH"] == "{venv}/bin:/usr/local/bin:/usr/bin:/bin"


def test_a_library_is_handed_over_so_that_it_cannot_be_overlooked() -> None:
    """Hints alone lose against the toolkit's own copy; the root comes first. A suffix nobody asked for is gone."""
    found = environment()

    assert (found["NCCL_ROOT"], found["NCCL_INCLUDE_DIR"], found["NCCL_LIB_DIR"]) == (
        NCCL,
        f"{NCCL}/include",
        f"{NCCL}/lib",
    )
    assert found["USE_SYSTEM_NCCL"] == "1"
    assert found["CUDNN_LIBRARY"] == "/torchbuild/parts/cudnn/lib/libcudnn.so"
    assert "NCCL_VERSION" not in found


def test_results_are_given_beforehand_where_a_front_end_takes_them() -> None:
    """What is given is not searched for."""
    parts = parts_or_wished(recipe(), None)

    assert parts_definitions(parts, era_fact("setup-py")) == {}
    given = parts_definitions(parts, era_fact("scikit-build-core"))
    assert given["NCCL_LIBRARIES"] == f"{NCCL}/lib/libnccl.so"


def test_a_cpu_build_is_told_nothing() -> None:
    """No variable of CUDA gets in by a side door."""
    plain = recipe(cuda=None, nccl=None, cudnn=None)

    assert parts_environment(plain, (), COMPILERS) == {}
    assert list(parts_expectations(plain, (), COMPILERS, ())) == []
    assert by_name(()) == {}


def test_the_real_cache_is_as_asked() -> None:
    """PyTorch 2.6 with Debian's CUDA 12.4, NCCL and cuDNN from wheels, and another NCCL in /usr."""
    assert refused() == set()


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("NCCL_LIBRARIES", "/usr/lib/x86_64-linux-gnu/libnccl.so"),
        ("NCCL_INCLUDE_DIRS", "/usr/include"),
        ("NCCL_LIBRARIES", None),
        ("CUDNN_LIBRARY_PATH", "/usr/lib/x86_64-linux-gnu/libcudnn.so"),
        ("CUDNN_INCLUDE_PATH", "CUDNN_INCLUDE_PATH-NOTFOUND"),
        ("USE_SYSTEM_NCCL", "OFF"),
        ("USE_NCCL", "0"),
        ("USE_CUDNN", "OFF"),
        ("USE_C10D_NCCL", "OFF"),
        ("CMAKE_CUDA_COMPILER", "/usr/local/cuda/bin/nvcc"),
        ("CUDA_TOOLKIT_ROOT_DIR", "/usr/local/cuda-12.1"),
        ("CUDA_VERSION", "12.1"),
        ("CUDA_HOST_COMPILER", "/usr/bin/gcc"),
        ("CMAKE_CUDA_HOST_COMPILER", None),
        ("NINJA_CUDA_HOST_COMPILER", "none"),
        ("NINJA_CUDA_COMPILER", "/opt/cuda/bin/nvcc"),
        ("NINJA_CUDA_CODE", "compute_90 sm_80 sm_90"),
        ("NINJA_CUDA_CODE", ""),
        ("TORCH_CUDA_ARCH_LIST", "Auto"),
        ("CMAKE_CUDA_COMPILER_LAUNCHER", ""),
    ],
)
def test_what_configure_took_from_elsewhere_is_refused(entry: str, value: str | None) -> None:
    """Each entry that would be another wheel, changed in the real cache alone, ends the build before it begins."""
    assert refused(None, **{entry: value}) == {entry}


def test_architectures_are_those_of_the_recipe() -> None:
    """A list that CMake echoes proves nothing; what ninja would run does."""
    other = recipe(cuda=LEAST["cuda"] | {"archs": ("8.0", "9.0+PTX")})

    assert refused(other) == {"NINJA_CUDA_CODE", "TORCH_CUDA_ARCH_LIST"}
