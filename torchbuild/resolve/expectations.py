"""What the configure gate will compare: flags, interpreter, NumPy, BLAS, compilers, generator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchbuild.knowledge.tables import blas_fact, preset
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.lock import Expectation, LockedPython
from torchbuild.model.recipe import Recipe

__all__ = ["definitions", "expectations", "flags"]

VENV_PYTHON = f"{BUILD_ROOT}/venv/bin/python"
NINJA = f"{BUILD_ROOT}/venv/bin/ninja"
_SWITCH = re.compile(r"(USE|BUILD)_[A-Z0-9_]+")
_SWITCH_WORDS = {"ON", "OFF", "0", "1", "TRUE", "FALSE", "YES", "NO"}


def flags(recipe: Recipe) -> dict[str, tuple[str, str]]:
    """Each flag's value and who wants it; the recipe wins over its preset."""
    result: dict[str, tuple[str, str]] = {}
    if recipe.build.preset != "none":
        facts = preset(recipe.build.preset)
        why = f"build.preset {recipe.build.preset}"
        result |= dict.fromkeys(facts.off, ("OFF", why)) | dict.fromkeys(facts.on, ("ON", why))
    for name, value in recipe.build.flags.items():
        result[name] = (_flag_text(value), f"build.flags.{name}")
    return dict(sorted(result.items()))


def definitions(recipe: Recipe) -> dict[str, tuple[str, str]]:
    """Further ``-D`` definitions with who wants them."""
    return {
        name: (_flag_text(value), f"build.cmake.{name}") for name, value in sorted(recipe.build.cmake.items())
    }


def _flag_text(value: bool | int | str) -> str:  # noqa: FBT001  a TOML value
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)


def expectations(
    recipe: Recipe, python: LockedPython, compilers: Mapping[str, str]
) -> tuple[Expectation, ...]:
    """All of them, sorted by key. `compilers` holds the absolute ``CC``, ``CXX`` and launcher paths."""
    found = [
        *_flags(recipe),
        *_python(python),
        *_numpy(recipe),
        *_blas(recipe),
        *_compilers(compilers),
        *_generator(recipe),
    ]
    return tuple(sorted(found, key=lambda item: (item.key, item.reference)))


def _flags(recipe: Recipe) -> Iterator[Expectation]:
    for key, (value, why) in (flags(recipe) | definitions(recipe)).items():
        if _SWITCH.fullmatch(key) and value.upper() in _SWITCH_WORDS:
            state = "ON" if value.upper() in {"ON", "1", "TRUE", "YES"} else "OFF"
            yield Expectation(reference="gate-flag", key=key, kind="switch", value=state, why=why)
        else:
            yield Expectation(reference="gate-flag", key=key, kind="text", value=value, why=why)


def _python(python: LockedPython) -> Iterator[Expectation]:
    """CMake knows the interpreter under several names; they must all be the locked one."""
    yield Expectation(
        reference="gate-python",
        key=r"_?(Python|Python3|PYTHON)_EXECUTABLE",
        kind="every",
        value=VENV_PYTHON,
        why="python",
    )
    yield Expectation(
        reference="gate-python",
        key=r"_Python3?_INTERPRETER_PROPERTIES",
        kind="every-contains",
        value=f";{python.soabi};",
        why="python",
    )


def _numpy(recipe: Recipe) -> Iterator[Expectation]:
    if flags(recipe).get("USE_NUMPY", ("", ""))[0] == "ON":
        yield Expectation(
            reference="gate-numpy",
            key=r"(_Python3?_NumPy_INCLUDE_DIR|Python3?_NumPy_INCLUDE_DIR|NUMPY_INCLUDE_DIR)",
            kind="within",
            value=f"{BUILD_ROOT}/venv",
            why="python, numpy",
        )


def _blas(recipe: Recipe) -> Iterator[Expectation]:
    if recipe.blas is None:
        return
    fact = blas_fact(recipe.blas.provider)
    yield Expectation(reference="gate-blas", key="BLAS", kind="text", value=fact.blas, why="blas.provider")
    for key, part in fact.within.items():
        yield Expectation(
            reference="gate-blas", key=key, kind="every-contains", value=part, why="blas.provider"
        )


def _compilers(compilers: Mapping[str, str]) -> Iterator[Expectation]:
    for key, path in (("CMAKE_C_COMPILER", compilers["CC"]), ("CMAKE_CXX_COMPILER", compilers["CXX"])):
        yield Expectation(reference="gate-compiler", key=key, kind="path", value=path, why="toolchain")
    launcher = compilers.get("LAUNCHER", "")
    for key in ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"):
        if launcher:
            why = "toolchain.compiler_cache"
            yield Expectation(reference="gate-compiler", key=key, kind="text", value=launcher, why=why)


def _generator(recipe: Recipe) -> Iterator[Expectation]:
    texts = (("CMAKE_GENERATOR", "Ninja"), ("CMAKE_BUILD_TYPE", recipe.build.type))
    for key, value in texts:
        yield Expectation(reference="gate-generator", key=key, kind="text", value=value, why="front end")
    paths = (("CMAKE_MAKE_PROGRAM", NINJA), ("CMAKE_HOME_DIRECTORY", f"{BUILD_ROOT}/source"))
    for key, value in paths:
        yield Expectation(reference="gate-generator", key=key, kind="path", value=value, why="front end")
