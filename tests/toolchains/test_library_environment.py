"""A library is handed over so that it cannot be overlooked, and configure is compared with it."""

from __future__ import annotations

import pytest

from tests.toolchains.library_samples import library, ours, recipe
from torchbuild.knowledge.tables import era_fact
from torchbuild.model.lock import Expectation
from torchbuild.model.part import LockedPart
from torchbuild.shim.cache import parse_cache
from torchbuild.shim.gate import compare
from torchbuild.toolchains.library_environment import (
    definitions,
    environment,
    expectations,
    problems,
    switches,
)

NCCL = ours("nccl", "2.21.5")
CUDNN = ours("cudnn", "9.1.0.70")
SYSTEM = LockedPart(name="nccl", provider="system", version="2.22.3", prefix="/usr")
BUNDLED = LockedPart(
    name="nccl", provider="bundled", version="2.26.2", prefix="/torchbuild/source/build/nccl"
)
CUDA = LockedPart(name="cuda", provider="apt", version="12.4", prefix="/usr")
CACHE = """\
USE_DISTRIBUTED:BOOL=1
USE_NCCL:BOOL=1
USE_C10D_NCCL:BOOL=ON
USE_SYSTEM_NCCL:BOOL=1
NCCL_INCLUDE_DIRS:PATH=/torchbuild/parts/nccl/include
NCCL_LIBRARIES:FILEPATH=/torchbuild/parts/nccl/lib/libnccl.so
"""


def failed(expected: tuple[Expectation, ...], cache: str) -> dict[str, str]:
    """What the gate refuses, and what it saw, by the entry's name."""
    rows = [item.model_dump() for item in expected]
    found = zip(rows, compare(parse_cache(cache), rows), strict=True)
    return {row["key"]: finding["seen"] for row, finding in found if finding["outcome"] == "failed"}


def test_variables_name_the_locked_copy() -> None:
    """Root, include, library as a file; never a version, which FindNCCL takes for a part of the name."""
    assert environment([CUDA, NCCL, CUDNN]) == {
        "CUDNN_INCLUDE_DIR": "/torchbuild/parts/cudnn/include",
        "CUDNN_LIBRARY": "/torchbuild/parts/cudnn/lib/libcudnn.so",
        "CUDNN_ROOT": "/torchbuild/parts/cudnn",
        "NCCL_INCLUDE_DIR": "/torchbuild/parts/nccl/include",
        "NCCL_LIB_DIR": "/torchbuild/parts/nccl/lib",
        "NCCL_ROOT": "/torchbuild/parts/nccl",
        "USE_C10D_NCCL": "1",
        "USE_CUDNN": "1",
        "USE_DISTRIBUTED": "1",
        "USE_NCCL": "1",
        "USE_SYSTEM_NCCL": "1",
    }


def test_a_bundled_library_is_not_pointed_at() -> None:
    """The switch is off, and no variable leads anywhere else."""
    assert environment([BUNDLED]) == {
        "USE_C10D_NCCL": "1",
        "USE_DISTRIBUTED": "1",
        "USE_NCCL": "1",
        "USE_SYSTEM_NCCL": "0",
    }
    assert definitions([BUNDLED], era_fact("scikit-build-core")) == {}


def test_a_system_library_that_nobody_found_has_no_folder() -> None:
    """Where its file is, is not guessed; the gate asks that it is below the prefix."""
    assert "NCCL_LIB_DIR" not in environment([SYSTEM])
    kinds = {item.key: (item.kind, item.value) for item in expectations([SYSTEM])}

    assert kinds["NCCL_LIBRARIES"] == ("within", "/usr")
    assert kinds["NCCL_INCLUDE_DIRS"] == ("path", "/usr/include")


def test_results_are_given_beforehand_where_there_is_a_way() -> None:
    """Hints can lose, results cannot; the older front end hands over some names only."""
    assert definitions([NCCL, CUDA], era_fact("scikit-build-core")) == {
        "NCCL_INCLUDE_DIRS": "/torchbuild/parts/nccl/include",
        "NCCL_LIBRARIES": "/torchbuild/parts/nccl/lib/libnccl.so",
    }
    assert definitions([NCCL], era_fact("setup-py")) == {}


def test_options_that_a_tree_does_not_know_are_left_out() -> None:
    """Where its options were read, only those of them are asked for."""
    assert switches([NCCL], {"USE_NCCL", "USE_DISTRIBUTED"}) == {
        "USE_DISTRIBUTED": ("ON", "nccl"),
        "USE_NCCL": ("ON", "nccl"),
    }
    assert "USE_C10D_NCCL" not in environment([NCCL], {"USE_NCCL"})


def test_the_gate_passes_what_was_asked_for() -> None:
    """Nothing is refused where configure took the locked copy."""
    assert failed(expectations([NCCL, CUDA]), CACHE) == {}


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("USE_SYSTEM_NCCL:BOOL=1", "USE_SYSTEM_NCCL:BOOL=OFF", "USE_SYSTEM_NCCL"),
        ("USE_NCCL:BOOL=1", "USE_NCCL:INTERNAL=ON", "USE_NCCL"),
        ("USE_DISTRIBUTED:BOOL=1", "USE_DISTRIBUTED:BOOL=0", "USE_DISTRIBUTED"),
        ("USE_C10D_NCCL:BOOL=ON\n", "", "USE_C10D_NCCL"),
        ("parts/nccl/include", "parts/cuda/include", "NCCL_INCLUDE_DIRS"),
        ("/torchbuild/parts/nccl/lib/libnccl.so", "/usr/lib/libnccl.so", "NCCL_LIBRARIES"),
        ("/torchbuild/parts/nccl/lib/libnccl.so", "NCCL_LIBRARIES-NOTFOUND", "NCCL_LIBRARIES"),
    ],
)
def test_the_gate_refuses_another_copy_by_name(old: str, new: str, key: str) -> None:
    """One entry is wrong, and one is named."""
    assert old in CACHE
    assert failed(expectations([NCCL]), CACHE.replace(old, new)).keys() == {key}


def test_a_bundled_library_must_not_be_found_elsewhere() -> None:
    """A tree that looks for one after all would link it."""
    cache = CACHE.replace("USE_SYSTEM_NCCL:BOOL=1", "USE_SYSTEM_NCCL:BOOL=OFF")
    own = "".join(line + "\n" for line in cache.splitlines() if not line.startswith("NCCL_"))

    assert failed(expectations([BUNDLED]), own) == {}
    assert failed(expectations([BUNDLED]), cache).keys() == {"NCCL_INCLUDE_DIRS", "NCCL_LIBRARIES"}


@pytest.mark.parametrize(
    ("key", "value", "suggestion"),
    [
        ("CUDNN_LIBRARY_PATH", "/opt/cudnn/lib/libcudnn.so", "CUDNN_LIBRARY"),
        ("CUDNN_INCLUDE_PATH", "/opt/cudnn/include", "CUDNN_INCLUDE_DIR"),
        ("NCCL_LIBRARIES", "/opt/libnccl.so", ""),
        ("NCCL_VERSION", "2.18.3-1", ""),
        ("NVSHMEM_ROOT", "/opt", ""),
    ],
)
def test_variables_that_nothing_reads_are_refused(key: str, value: str, suggestion: str) -> None:
    """What a message of CMake prints is not what it reads."""
    (problem,) = problems(recipe(build={"env": {key: value}}))

    assert problem.path == f"build.env.{key}"
    assert problem.suggestion == suggestion


def test_variables_that_are_read_are_the_recipes_own() -> None:
    """Without the table, the recipe may point at a copy itself; FindCUDNN takes a directory as well."""
    env = {"NCCL_ROOT": "/opt/nccl", "CUDNN_LIBRARY": "/opt/cudnn/lib", "MAGMA_HOME": "/opt"}

    assert list(problems(recipe(build={"env": env, "flags": {"USE_NCCL": False}}))) == []


@pytest.mark.parametrize(
    ("source", "build", "path"),
    [
        ("wheels", {"env": {"NCCL_ROOT": "/opt/nccl"}}, "build.env.NCCL_ROOT"),
        ("wheels", {"flags": {"USE_NCCL": False}}, "build.flags.USE_NCCL"),
        ("wheels", {"flags": {"USE_DISTRIBUTED": "OFF"}}, "build.flags.USE_DISTRIBUTED"),
        ("wheels", {"flags": {"USE_SYSTEM_NCCL": 0}}, "build.flags.USE_SYSTEM_NCCL"),
        ("bundled", {"flags": {"USE_SYSTEM_NCCL": True}}, "build.flags.USE_SYSTEM_NCCL"),
        ("wheels", {"cmake": {"NCCL_LIBRARIES": "/opt/x.so"}}, "build.cmake.NCCL_LIBRARIES"),
    ],
)
def test_what_contradicts_a_table_is_refused(source: str, build: dict[str, object], path: str) -> None:
    """The table decides, and a flag that says otherwise is a problem before anything is built."""
    version = "" if source == "bundled" else "2.21.5"

    assert [item.path for item in problems(recipe(nccl=library(version, source), build=build))] == [path]
