"""Whose a variable is: the recipe may set what nothing else of it decides, each in one place."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.errors import Problem
from torchbuild.model.recipe import Recipe
from torchbuild.report.secrets import secrets_of
from torchbuild.resolve.problems import shown

__all__ = ["BASE", "secret_problems", "variable_problems"]

BASE = {
    "HOME": "{work}/home",
    "LC_ALL": "C.UTF-8",
    "PATH": "{venv}/bin:/usr/local/bin:/usr/bin:/bin",
    "PIP_CONFIG_FILE": "/dev/null",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "TMPDIR": "{work}/tmp",
    "TZ": "UTC",
}
"""What every process of a build sees."""

_OURS = "nothing: torchbuild decides it"
_ENVIRONMENT = dict.fromkeys(BASE, _OURS) | {
    "CC": "toolchain.cc",
    "CCACHE_DIR": "nothing: the machine decides it",
    "CXX": "toolchain.cxx",
    "MAX_JOBS": "machine.jobs",
    "PYTORCH_BUILD_NUMBER": "wheel.build_number",
    "PYTORCH_BUILD_VERSION": "wheel.version and wheel.local",
    "SOURCE_DATE_EPOCH": "source.epoch",
}
"""Variables of a build, and the key that sets them."""
_DEFINITIONS = {
    "CMAKE_ARGS": "build.cmake, each definition by its name",
    "CMAKE_BUILD_TYPE": "build.type",
    "CMAKE_CXX_COMPILER": "toolchain.cxx",
    "CMAKE_CXX_COMPILER_LAUNCHER": "toolchain.compiler_cache",
    "CMAKE_C_COMPILER": "toolchain.cc",
    "CMAKE_C_COMPILER_LAUNCHER": "toolchain.compiler_cache",
    "CMAKE_GENERATOR": _OURS,
    "CMAKE_HOME_DIRECTORY": _OURS,
    "CMAKE_INSTALL_PREFIX": _OURS,
    "CMAKE_MAKE_PROGRAM": _OURS,
    "PYTHON_EXECUTABLE": "python",
    "Python3_EXECUTABLE": "python",
    "Python_EXECUTABLE": "python",
}
"""CMake's variables, and the key that sets them."""
_FLAGS = ("USE_", "BUILD_")


def variable_problems(recipe: Recipe) -> Iterator[Problem]:
    """Names that are set in the wrong table, twice, or by another key."""
    build = recipe.build
    taken = _DEFINITIONS | ({"BLAS": "blas.provider"} if recipe.blas is not None else {})
    for name in build.flags:
        if not name.startswith(_FLAGS):
            yield _elsewhere("build.flags", name, "names with USE_ or BUILD_; others go to build.cmake")
    for name in build.cmake:
        if name in taken:
            yield _elsewhere("build.cmake", name, taken[name])
        elif name in build.flags:
            yield _elsewhere("build.cmake", name, f"build.flags.{name} alone: it is set twice")
    for name in build.env:
        if name in _ENVIRONMENT:
            yield _elsewhere("build.env", name, _ENVIRONMENT[name])
        elif name.startswith((*_FLAGS, "CMAKE_")):
            # the front end hands these to CMake, where nothing would compare them
            table = "build.flags" if name.startswith(_FLAGS) else "build.cmake"
            yield _elsewhere("build.env", name, f"{table}.{name}: configure is compared with it")
        elif name in taken or name in build.cmake:
            yield _elsewhere("build.env", name, taken.get(name, f"build.cmake.{name} alone: it is set twice"))


def _elsewhere(table: str, name: str, wanted: str) -> Problem:
    return Problem(path=f"{table}.{name}", seen=f"the name {shown(name)}", wanted=wanted)


def secret_problems(recipe: Recipe) -> Iterator[Problem]:
    """Passwords and tokens in what the lock holds: a lock is published, and its values are in the wheel."""
    build = recipe.build
    # a variable can tell by its name that it is secret; elsewhere only the password in an address is certain
    named = {f"build.env.{name}": {name: value} for name, value in build.env.items()}
    tables = (("build.flags", build.flags), ("build.cmake", build.cmake))
    values = {f"{table}.{name}": str(value) for table, rows in tables for name, value in rows.items()}
    for index, step in enumerate(recipe.source.prepare):
        values |= {f"source.prepare[{index}].argv[{at}]": text for at, text in enumerate(step.argv)}
    for path, environ in (named | {path: {"": value} for path, value in values.items()}).items():
        if secrets_of(environ):
            yield Problem(path=path, seen="a secret", wanted="none: the lock would publish it")
