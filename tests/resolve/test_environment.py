"""The environment of the build."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from torchbuild.errors import ConflictError
from torchbuild.knowledge.tables import era_fact
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import Answers, lock_of
from torchbuild.resolve.environment import (
    BASE,
    build_environment,
    extra_defines,
    full_environment,
    wheel_version,
)

COMPILERS = {"CC": "/usr/bin/gcc", "CXX": "/usr/bin/g++", "LAUNCHER": ""}
Load = Callable[..., Recipe]


def _environ(recipe: Recipe, era: str = "setup-py", launcher: str = "") -> dict[str, str]:
    return build_environment(recipe, era_fact(era), {**COMPILERS, "LAUNCHER": launcher})


def test_the_least_that_a_build_is_told(load: Load, least: str) -> None:
    """Compilers are always named, never left to what a front end finds; version and number always stand together."""
    assert _environ(load(least)) == {
        "CC": "/usr/bin/gcc",
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_GENERATOR": "Ninja",
        "CXX": "/usr/bin/g++",
        "PYTORCH_BUILD_NUMBER": "1",
        "PYTORCH_BUILD_VERSION": "1.0.0",
    }


@pytest.mark.parametrize(
    ("tables", "name", "value"),
    [
        ("[build]\nflags = { USE_A = true }", "USE_A", "ON"),
        ("[build]\nflags = { USE_A = 0 }", "USE_A", "0"),
        ("[build]\nflags = { USE_A = '/x' }", "USE_A", "/x"),
        ("[build]\npreset = 'minimal'", "USE_MPI", "OFF"),
        ("[build]\ncmake = { CMAKE_CXX_FLAGS = '-g' }", "CMAKE_CXX_FLAGS", "-g"),
        ("[build]\ncmake = { WERROR = true }", "WERROR", "ON"),
        ("[build]\nenv = { ONNX_NAMESPACE = 'onnx' }", "ONNX_NAMESPACE", "onnx"),
        ("[build]\ntype = 'Debug'", "CMAKE_BUILD_TYPE", "Debug"),
        ("[blas]\nprovider = 'openblas'", "BLAS", "OpenBLAS"),
        ("[toolchain]\nlinker = 'mold'", "LDFLAGS", "-fuse-ld=mold"),
        ("[toolchain]\nlinker = 'mold'\n[build]\nenv = { LDFLAGS = '-s' }", "LDFLAGS", "-fuse-ld=mold -s"),
        ("[build]\nenv = { LDFLAGS = '-s' }", "LDFLAGS", "-s"),
    ],
)
def test_what_is_asked_for_reaches_the_front_end(
    load: Load, least: str, tables: str, name: str, value: str
) -> None:
    """Each wish of the recipe is one variable, and none undoes another."""
    assert _environ(load(least + tables))[name] == value


def test_a_compiler_cache_is_handed_over(load: Load, least: str) -> None:
    """The launcher comes with what makes it hit with precompiled headers, in a place that is no machine's."""
    environ = _environ(load(least), launcher="/usr/bin/ccache")

    assert environ["CMAKE_C_COMPILER_LAUNCHER"] == environ["CMAKE_CXX_COMPILER_LAUNCHER"] == "/usr/bin/ccache"
    assert environ["CCACHE_DIR"] == "{cache}/ccache"
    assert environ["CCACHE_SLOPPINESS"] == "include_file_mtime,include_file_ctime"
    assert not [name for name in _environ(load(least)) if name.startswith("CCACHE_")]


@pytest.mark.parametrize(("local", "version"), [("", "1.0.0"), ("local = 'cu124'", "1.0.0+cu124")])
def test_a_version_has_its_label(load: Load, least: str, local: str, version: str) -> None:
    """The tree is told the whole version."""
    recipe = load(least + local)

    assert wheel_version(recipe) == version
    assert _environ(recipe)["PYTORCH_BUILD_VERSION"] == version


def test_what_the_environment_cannot_carry_is_a_conflict(load: Load, least: str) -> None:
    """A definition that the old front end would drop without a word is refused by name."""
    recipe = load(least + "[build]\ncmake = { CMAKE_X = 1, OTHER = 2, ANOTHER = 3 }")

    with pytest.raises(ConflictError) as caught:
        extra_defines(recipe, era_fact("setup-py"))

    assert caught.value.reference == "define-cannot-reach-cmake"
    assert caught.value.what == "this tree's front end cannot hand ANOTHER, OTHER to CMake"


def test_the_new_front_end_takes_definitions_as_such(load: Load, least: str) -> None:
    """Where real definitions can be handed over they are: the environment is read too late for some of them."""
    recipe = load(least + "[build]\ncmake = { CMAKE_CXX_FLAGS = '-g', OTHER = true }\nflags = { USE_A = 1 }")
    era = era_fact("scikit-build-core")

    assert extra_defines(recipe, era) == {"CMAKE_CXX_FLAGS": "-g", "OTHER": "ON"}
    assert "CMAKE_CXX_FLAGS" not in _environ(recipe, "scikit-build-core")
    assert _environ(recipe, "scikit-build-core")["USE_A"] == "1"


@pytest.mark.parametrize("era", ["setup-py", "scikit-build-core"])
def test_nothing_is_lost_between_the_two_ways(load: Load, least: str, era: str) -> None:
    """Each definition goes by one of them and by one only."""
    recipe = load(
        least + "[build]\ncmake = { CMAKE_CXX_FLAGS = '-g', ONNX_ML = true, USE_Z = 1, X_EXITCODE = 0 }"
    )
    fact = era_fact(era)

    carried, defined = set(_environ(recipe, era)), set(extra_defines(recipe, fact))

    assert not carried & defined
    assert recipe.build.cmake.keys() <= carried | defined


def test_the_whole_environment_is_scrubbed_and_sorted(
    load: Load, least: str, answers: Callable[..., Answers]
) -> None:
    """A build sees what its lock says and a handful of fixed values, and nothing of the machine."""
    lock = lock_of(load(least), answers())

    environ = full_environment(lock)

    assert list(environ) == sorted(environ)
    assert dict(environ) == BASE | {"SOURCE_DATE_EPOCH": "1700000000"} | lock.environ
    assert dict(environ)["PYTHONHASHSEED"] == "0"
    assert not [name for name, value in environ if "MAX_JOBS" in name or "/root" in value]


def test_the_order_of_flags_does_not_matter(load: Load, least: str) -> None:
    """Environments are the same for the same wishes."""
    texts = [
        f"[build]\nflags = {{ {', '.join(rows)} }}"
        for rows in permutations(("USE_A = 1", "USE_B = true", "USE_C = 'x'"))
    ]

    assert len({tuple(_environ(load(least + text)).items()) for text in texts}) == 1
