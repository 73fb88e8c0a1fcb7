"""What the configure gate will compare: flags, interpreter, NumPy, BLAS, compilers, generator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from torchbuild.knowledge.tables import blas_fact, preset
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.lock import Expectation, LockedPython
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.switches import Wishes, parents

__all__ = ["definitions", "expectations", "flags"]

VENV_PYTHON = f"{BUILD_ROOT}/venv/bin/python"
NINJA = f"{BUILD_ROOT}/venv/bin/ninja"
_SWITCH = re.compile(r"(USE|BUILD)_[A-Z0-9_]+")
_ON = {"ON", "1", "TRUE", "YES", "Y"}
_OFF = {"OFF", "0", "FALSE", "NO", "N"}
_GROWS = {"CMAKE_PREFIX_PATH"}
"""Lists that front ends put their own entries before."""
_NONE: Mapping[str, str] = MappingProxyType({})


def flags(recipe: Recipe) -> Wishes:
    """Each flag's value and who wants it; the recipe wins over its preset."""
    result: Wishes = {}
    if recipe.build.preset != "none":
        facts = preset(recipe.build.preset)
        why = f"build.preset {recipe.build.preset}"
        result |= dict.fromkeys(facts.off, ("OFF", why)) | dict.fromkeys(facts.on, ("ON", why))
    for name, value in recipe.build.flags.items():
        result[name] = (_flag_text(value), f"build.flags.{name}")
    return dict(sorted(result.items()))


def definitions(recipe: Recipe) -> Wishes:
    """Further ``-D`` definitions with who wants them."""
    return {
        name: (_flag_text(value), f"build.cmake.{name}") for name, value in sorted(recipe.build.cmake.items())
    }


def _flag_text(value: bool | int | str) -> str:  # noqa: FBT001  a TOML value
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)


def expectations(
    recipe: Recipe,
    python: LockedPython,
    compilers: Mapping[str, str],
    renames: Mapping[str, str] = _NONE,
) -> tuple[Expectation, ...]:
    """All of them, sorted by key.

    Args:
        recipe: what is asked for.
        python: the interpreter.
        compilers: the absolute ``CC``, ``CXX`` and ``LAUNCHER`` paths; no launcher is the empty text.
        renames: variables that the front end hands to CMake under another name.

    Raises:
        ConflictError: ``switch-needs-another``.
    """
    found = [
        *_flags(recipe, renames),
        *_python(python),
        *_numpy(recipe),
        *_blas(recipe),
        *_compilers(compilers),
        *_generator(recipe),
    ]
    return tuple(sorted(found, key=lambda item: (item.key, item.reference)))


def _state(name: str, value: str, raw: object) -> str:
    """``ON`` or ``OFF`` for what is asked for as a switch, else empty."""
    if not isinstance(raw, bool) and not _SWITCH.fullmatch(name):
        return ""
    return "ON" if value.upper() in _ON else "OFF" if value.upper() in _OFF else ""


def _flags(recipe: Recipe, renames: Mapping[str, str]) -> Iterator[Expectation]:
    wishes = flags(recipe) | definitions(recipe)
    raw = recipe.build.flags | recipe.build.cmake
    switches: Wishes = {}
    for name, (value, why) in wishes.items():
        state = _state(name, value, raw.get(name))
        if state:
            switches[name] = (state, why)
        else:
            kind = "contains" if name in _GROWS else "text"
            yield _expect("gate-flag", renames.get(name, name), kind, value, why)
    for name, (state, why) in (switches | parents(switches)).items():
        yield _expect("gate-flag", renames.get(name, name), "switch", state, why)


def _expect(reference: str, key: str, kind: str, value: str, why: str) -> Expectation:
    return Expectation.model_validate(
        {"reference": reference, "key": key, "kind": kind, "value": value, "why": why}
    )


def _python(python: LockedPython) -> Iterator[Expectation]:
    """CMake knows the interpreter under several names; they must all be the locked one."""
    minor = "python" + ".".join(python.version.split(".")[:2])
    rows = (
        (r"_?(Python|Python3|PYTHON)_EXECUTABLE", "every", VENV_PYTHON),
        (r"_Python3?_INTERPRETER_PROPERTIES", "every-contains", f";{python.soabi};"),
        (r"_?Python3?_INCLUDE_DIR|PYTHON_INCLUDE_DIR", "every-contains", minor),
    )
    for key, kind, value in rows:
        yield _expect("gate-python", key, kind, value, "python")


def _numpy(recipe: Recipe) -> Iterator[Expectation]:
    value, _ = flags(recipe).get("USE_NUMPY", ("", ""))
    if value.upper() in _ON:
        key = r"(_Python3?_NumPy_INCLUDE_DIR|Python3?_NumPy_INCLUDE_DIR|NUMPY_INCLUDE_DIR)"
        yield _expect("gate-numpy", key, "within", f"{BUILD_ROOT}/venv", "python, numpy")


def _blas(recipe: Recipe) -> Iterator[Expectation]:
    if recipe.blas is None:
        return
    fact = blas_fact(recipe.blas.provider)
    yield _expect("gate-blas", "BLAS", "text", fact.blas, "blas.provider")
    for key, part in fact.within.items():
        yield _expect("gate-blas", key, "contains", part, "blas.provider")


def _compilers(compilers: Mapping[str, str]) -> Iterator[Expectation]:
    for key, path in (("CMAKE_C_COMPILER", compilers["CC"]), ("CMAKE_CXX_COMPILER", compilers["CXX"])):
        yield _expect("gate-compiler", key, "path", path, "toolchain")
    # a tree may put a compiler cache that it finds in front of the compilers without being asked
    launcher = compilers.get("LAUNCHER", "")
    for key in ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"):
        yield _expect("gate-compiler", key, "text", launcher, "toolchain.compiler_cache")


def _generator(recipe: Recipe) -> Iterator[Expectation]:
    texts = (("CMAKE_GENERATOR", "Ninja"), ("CMAKE_BUILD_TYPE", recipe.build.type))
    for key, value in texts:
        yield _expect("gate-generator", key, "text", value, "front end")
    paths = (
        ("CMAKE_CACHEFILE_DIR", f"{BUILD_ROOT}/source/build"),
        ("CMAKE_HOME_DIRECTORY", f"{BUILD_ROOT}/source"),
        ("CMAKE_MAKE_PROGRAM", NINJA),
    )
    for key, value in paths:
        yield _expect("gate-generator", key, "path", value, "front end")
