"""Whose a variable is: the recipe may set what nothing else of it decides, each in one place."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from torchbuild.errors import Problem
from torchbuild.model.command import BUILD_ROOT, expand
from torchbuild.model.recipe import Recipe
from torchbuild.report.redaction import Redactor
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
_SEARCHED = ("LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH")
"""Where every process of a build, the interpreter included, looks for code before all else."""
_NEVER = ("PYTHONEXECUTABLE", "PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONSTARTUP", "PYTHONUSERBASE")
"""What makes another interpreter of the locked one."""
_BETWEEN_PATHS = re.compile(r"[:; ]")


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
    yield from _environment_problems(recipe, taken)


def _environment_problems(recipe: Recipe, taken: Mapping[str, str]) -> Iterator[Problem]:
    build = recipe.build
    for name, value in build.env.items():
        yield from _foreign(name, value)
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


def _foreign(name: str, value: str) -> Iterator[Problem]:
    """What would put another interpreter, or code that is in no lock, before what is locked."""
    if name in _NEVER or (name.startswith("PIP_") and name not in _ENVIRONMENT):
        yield _elsewhere("build.env", name, "no such name: interpreter and requirements are the lock's")
    elif name in _SEARCHED and not all(_is_of_the_build(path) for path in _BETWEEN_PATHS.split(value)):
        wanted = (
            "paths below {source}, {venv} or {work}: what lies elsewhere would come before what is locked"
        )
        yield Problem(path=f"build.env.{name}", seen=shown(value), wanted=wanted)


def _is_of_the_build(path: str) -> bool:
    """Below the build's own root, but for the compiler cache: that is the machine's."""
    place = posixpath.normpath(expand(path)) + "/"
    return place.startswith(f"{BUILD_ROOT}/") and not place.startswith(expand("{cache}/"))


def secret_problems(recipe: Recipe) -> Iterator[Problem]:
    """Passwords and tokens in what the lock holds: a lock is published, and its values are in the wheel."""
    # a variable can tell by its name that it is secret; elsewhere the shape must, or the place in an address
    named = {f"build.env.{name}": {name: value} for name, value in recipe.build.env.items()}
    values = named | {path: {"": value} for path, value in _texts(recipe)}
    shapes = Redactor()
    found = [
        path
        for path, environ in values.items()
        if secrets_of(environ) or any(shapes.redact(value) != value for value in environ.values())
    ]
    for index, step in enumerate(recipe.source.prepare):
        where, line = f"source.prepare[{index}].argv", " ".join(step.argv)  # an option and its value are two
        if shapes.redact(line) != line and not any(path.startswith(f"{where}[") for path in found):
            found.append(where)
    for path in found:
        yield Problem(path=path, seen="a secret", wanted="none: the lock would publish it")


def _texts(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """What the lock takes over as it stands, with its key."""
    build, source = recipe.build, recipe.source
    for table, rows in (("build.flags", build.flags), ("build.cmake", build.cmake)):
        yield from ((f"{table}.{name}", str(value)) for name, value in rows.items())
    for index, step in enumerate(source.prepare):
        yield from ((f"source.prepare[{index}].argv[{at}]", text) for at, text in enumerate(step.argv))
