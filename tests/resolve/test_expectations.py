"""What the gate will compare."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.errors import ConflictError
from torchbuild.model.lock import Expectation, LockedPython
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import Survey
from torchbuild.resolve.expectations import expectations
from torchbuild.resolve.flags import definitions, flags
from torchbuild.resolve.load import load_recipe

LEAST = "schema = 1\nname = 'a'\nsource = { git = 'g', ref = 'r' }\nwheel = { version = '1.0' }\n"
COMPILERS = {"CC": "/usr/bin/gcc", "CXX": "/usr/bin/g++", "LAUNCHER": ""}
Expect = Callable[..., dict[str, Expectation]]


@pytest.fixture
def expect(load: Callable[..., Recipe], survey: Survey) -> Expect:
    """Expectations of a recipe by their key."""

    def by_key(
        tables: str, compilers: Mapping[str, str] = COMPILERS, **renames: str
    ) -> dict[str, Expectation]:
        found = expectations(load(LEAST + tables), survey.python, compilers, renames)
        assert len({(item.key, item.reference) for item in found}) == len(found)
        return {item.key: item for item in found}

    return by_key


@pytest.mark.parametrize(
    ("value", "state"),
    [
        ("true", "ON"),
        ("1", "ON"),
        ('"on"', "ON"),
        ('"YES"', "ON"),
        ("false", "OFF"),
        ("0", "OFF"),
        ('"OFF"', "OFF"),
        ('"n"', "OFF"),
    ],
)
def test_a_flag_is_compared_by_truth(expect: Expect, value: str, state: str) -> None:
    """However a switch is written, what counts is whether it is on."""
    item = expect(f"[build]\nflags = {{ USE_A = {value} }}")["USE_A"]

    assert (item.reference, item.kind, item.value, item.why) == (
        "gate-flag",
        "switch",
        state,
        "build.flags.USE_A",
    )


@pytest.mark.parametrize(
    ("tables", "key", "kind", "value"),
    [
        ('flags = { USE_LLVM = "/usr/lib/llvm" }', "USE_LLVM", "text", "/usr/lib/llvm"),
        ("flags = { USE_A = 2 }", "USE_A", "text", "2"),
        ("flags = { USE_A = -1 }", "USE_A", "text", "-1"),
        ("cmake = { ONNX_ML = true }", "ONNX_ML", "switch", "ON"),
        ("cmake = { ONNX_ML = false }", "ONNX_ML", "switch", "OFF"),
        ("cmake = { ONNX_ML = 1 }", "ONNX_ML", "text", "1"),
        ("cmake = { USE_B = 1 }", "USE_B", "switch", "ON"),
        ('cmake = { CMAKE_CXX_FLAGS = "-g" }', "CMAKE_CXX_FLAGS", "text", "-g"),
        ('cmake = { CMAKE_CXX_FLAGS = "" }', "CMAKE_CXX_FLAGS", "text", ""),
        ('cmake = { CMAKE_PREFIX_PATH = "/opt" }', "CMAKE_PREFIX_PATH", "contains", "/opt"),
    ],
)
def test_other_values_are_compared_as_they_are(
    expect: Expect, tables: str, key: str, kind: str, value: str
) -> None:
    """What is no switch must arrive unchanged; lists that a front end adds to must hold what was asked for."""
    item = expect(f"[build]\n{tables}")[key]

    assert (item.kind, item.value) == (kind, value)


def test_the_recipe_wins_over_its_preset(expect: Expect) -> None:
    """A preset is where one begins; each flag tells who wants it."""
    found = expect("[build]\npreset = 'minimal'\nflags = { USE_MKLDNN = true, USE_NUMPY = false }")

    assert (found["USE_MKLDNN"].value, found["USE_MKLDNN"].why) == ("ON", "build.flags.USE_MKLDNN")
    assert (found["USE_NUMPY"].value, found["USE_NUMPY"].why) == ("OFF", "build.flags.USE_NUMPY")
    assert (found["USE_MPI"].value, found["USE_MPI"].why) == ("OFF", "build.preset minimal")


def test_a_flag_that_arrives_under_another_name_is_looked_for_there(expect: Expect) -> None:
    """Front ends rename some variables; the gate looks for what CMake gets."""
    found = expect("[build]\nflags = { USE_A = true }", USE_A="A_OF_THE_TREE")

    assert "USE_A" not in found
    assert found["A_OF_THE_TREE"].why == "build.flags.USE_A"


def test_what_a_switch_needs_is_compared_too(expect: Expect) -> None:
    """When CUDA is lost, an NCCL that was asked for keeps its entry: so CUDA is compared as well."""
    found = expect("[build]\nflags = { USE_SYSTEM_NCCL = true }")

    assert {key: (item.value, item.why) for key, item in found.items() if key.startswith("USE_")} == {
        "USE_SYSTEM_NCCL": ("ON", "build.flags.USE_SYSTEM_NCCL"),
        "USE_NCCL": ("ON", "USE_SYSTEM_NCCL needs it"),
        "USE_CUDA": ("ON", "USE_SYSTEM_NCCL needs it"),
    }


def test_a_contradiction_of_switches_is_a_conflict(expect: Expect) -> None:
    """What the tree would drop silently is refused before it is tried."""
    with pytest.raises(ConflictError, match="what it needs is not"):
        expect("[build]\npreset = 'minimal'\nflags = { USE_NCCL = true }")


@pytest.mark.parametrize(
    ("key", "matches", "others"),
    [
        (
            "gate-python",
            ["_Python_EXECUTABLE", "Python_EXECUTABLE", "Python3_EXECUTABLE", "_Python3_EXECUTABLE", "PYTHON_EXECUTABLE"],
            ["Python2_EXECUTABLE", "Python_EXECUTABLE-ADVANCED", "XPython_EXECUTABLE"],
        ),
        (
            "gate-numpy",
            ["_Python_NumPy_INCLUDE_DIR", "Python_NumPy_INCLUDE_DIR", "_Python3_NumPy_INCLUDE_DIR", "NUMPY_INCLUDE_DIR"],
            ["Python_INCLUDE_DIR"],
        ),
    ],
)  # fmt: skip
def test_every_spelling_is_known(expect: Expect, key: str, matches: list[str], others: list[str]) -> None:
    """CMake's modules of each age keep the interpreter and NumPy under names of their own."""
    found = expect("[build]\npreset = 'minimal'")
    patterns = [
        item.key for item in found.values() if item.reference == key and item.kind in ("every", "within")
    ]

    assert all(any(re.fullmatch(pattern, name) for pattern in patterns) for name in matches)
    assert not any(re.fullmatch(pattern, name) for pattern in patterns for name in others)


def test_the_interpreter_is_the_venvs(expect: Expect) -> None:
    """The locked interpreter is compared by path, by ABI and by its headers' folder."""
    found = [item for item in expect("").values() if item.reference == "gate-python"]

    assert {(item.kind, item.value) for item in found} == {
        ("every", "/torchbuild/venv/bin/python"),
        ("every-contains", ";cpython-313-x86_64-linux-gnu;"),
        ("each", "/usr/include/python3.13"),
    }


@pytest.mark.parametrize(
    ("tables", "wanted"),
    [
        ("[build]\nflags = { USE_NUMPY = true }", True),
        ("[build]\nflags = { USE_NUMPY = 1 }", True),
        ("[build]\nflags = { USE_NUMPY = 'yes' }", True),
        ("[build]\npreset = 'minimal'", True),
        ("[build]\nflags = { USE_NUMPY = 0 }", False),
        ("", False),
    ],
)
def test_numpy_is_compared_where_it_is_asked_for(expect: Expect, tables: str, wanted: bool) -> None:
    """However NumPy is asked for, its headers must be those of the build environment."""
    assert any(item.reference == "gate-numpy" for item in expect(tables).values()) is wanted


@pytest.mark.parametrize(
    ("provider", "values"),
    [("openblas", {"OpenBLAS", "libopenblas", "1"}), ("generic", {"Generic", "blas"})],
)
def test_blas_is_compared_by_name_and_library(expect: Expect, provider: str, values: set[str]) -> None:
    """The chosen BLAS must be the one that CMake was told of and the one that it found."""
    found = expect(f"[blas]\nprovider = '{provider}'")

    assert {item.value for item in found.values() if item.reference == "gate-blas"} == values
    assert not [item for item in expect("").values() if item.reference == "gate-blas"]


@pytest.mark.parametrize("launcher", ["", "/usr/bin/ccache"])
def test_a_launcher_is_the_one_that_was_asked_for(expect: Expect, launcher: str) -> None:
    """A compiler cache that nobody asked for is as wrong as one that was asked for and is not there."""
    found = expect("", {**COMPILERS, "LAUNCHER": launcher})

    assert [found[f"CMAKE_{lang}_COMPILER_LAUNCHER"].value for lang in ("C", "CXX")] == [launcher, launcher]
    assert (found["CMAKE_C_COMPILER"].kind, found["CMAKE_CXX_COMPILER"].value) == ("path", "/usr/bin/g++")


def test_the_build_is_the_tools_own(expect: Expect) -> None:
    """Generator, build program, source and build directory are torchbuild's, and the type is the recipe's."""
    found = expect("[build]\ntype = 'Debug'")

    assert {key: item.value for key, item in found.items() if item.reference == "gate-generator"} == {
        "CMAKE_BUILD_TYPE": "Debug",
        "CMAKE_CACHEFILE_DIR": "/torchbuild/source/build",
        "CMAKE_COMMAND": "/torchbuild/venv",
        "CMAKE_GENERATOR": "Ninja",
        "CMAKE_HOME_DIRECTORY": "/torchbuild/source",
        "CMAKE_MAKE_PROGRAM": "/torchbuild/venv/bin/ninja",
    }


def test_expectations_are_sorted(expect: Expect) -> None:
    """The lock lists them in one order, so that two locks can be compared line by line."""
    found = [(item.key, item.reference) for item in expect("[build]\npreset = 'minimal'\n[blas]\n").values()]

    assert found == sorted(found)


@given(st.permutations([("USE_A", 1), ("BUILD_B", True), ("USE_C", "x"), ("USE_SYSTEM_NCCL", True)]))
def test_the_order_of_a_table_does_not_matter(rows: list[tuple[str, int | str]]) -> None:
    """The same flags in another order are the same flags."""
    python = LockedPython(executable="/p", version="3.13.5", soabi="x", tag="cp313")
    recipe = load_recipe("a", lambda _path: LEAST)
    build = recipe.build
    changed = recipe.model_copy(update={"build": build.model_copy(update={"flags": dict(rows)})})
    other = recipe.model_copy(update={"build": build.model_copy(update={"cmake": dict(rows)})})
    same = recipe.model_copy(update={"build": build.model_copy(update={"flags": dict(sorted(rows))})})

    assert list(flags(changed)) == sorted(name for name, _ in rows)
    assert list(definitions(other)) == sorted(name for name, _ in rows)
    assert expectations(changed, python, COMPILERS) == expectations(same, python, COMPILERS)


def test_a_place_of_the_build_is_expected_as_the_path_that_it_is(expect: Expect) -> None:
    """``{source}`` in a definition is a path inside the build when it is compared, as it is when it is handed."""
    assert expect('[build]\ncmake = { FOO_ROOT = "{source}/third_party/foo" }')["FOO_ROOT"].value == (
        "/torchbuild/source/third_party/foo"
    )


def test_a_variable_of_cmake_itself_is_compared_as_it_was_handed_over(expect: Expect) -> None:
    """No tree declares those: what stands in the cache is our own definition, and that is right."""
    found = expect("[build]\ncmake = { CMAKE_LINK_DEPENDS_NO_SHARED = true }")["CMAKE_LINK_DEPENDS_NO_SHARED"]

    assert (found.kind, found.value) == ("text", "ON")
