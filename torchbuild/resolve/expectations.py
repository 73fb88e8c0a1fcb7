"""What the configure gate will compare: flags, interpreter, NumPy, BLAS, compilers, generator."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from torchbuild.knowledge.tables import blas_fact
from torchbuild.model.command import BUILD_ROOT, expand
from torchbuild.model.lock import Expectation, LockedPython
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.flags import definitions, flags, linker_flags, switch_state
from torchbuild.resolve.parts_handed import Parts, parts_expectations, parts_or_wished
from torchbuild.resolve.switches import Wishes, parents

__all__ = ["expectations"]

VENV_PYTHON = f"{BUILD_ROOT}/venv/bin/python"
NINJA = f"{BUILD_ROOT}/venv/bin/ninja"
_GROWS = {"CMAKE_PREFIX_PATH"}
"""Lists that front ends put their own entries before."""
_NONE: Mapping[str, str] = MappingProxyType({})


def expectations(
    recipe: Recipe,
    python: LockedPython,
    compilers: Mapping[str, str],
    renames: Mapping[str, str] = _NONE,
    *,
    declared: Collection[str] = (),
    front_end_only: Collection[str] = (),
    parts: Parts | None = None,
) -> tuple[Expectation, ...]:
    """All of them, sorted by key.

    Args:
        recipe: what is asked for.
        python: the interpreter.
        compilers: the absolute ``CC``, ``CXX`` and ``LAUNCHER`` paths; no launcher is the empty text.
        renames: variables that the front end hands to CMake under another name.
        declared: options of the tree.
        front_end_only: switches that CMake is handed and does not know.
        parts: toolkit and libraries as they are locked; by default where the recipe has them.

    Raises:
        ConflictError: ``switch-needs-another``.
    """
    parts = parts_or_wished(recipe, parts)
    found = [
        *_flags(recipe, flags(recipe, declared), renames, front_end_only),
        *_python(python),
        *_numpy(recipe),
        *_blas(recipe),
        *_compilers(compilers),
        *_compiler_flags(recipe),
        *_generator(recipe),
    ]
    found += parts_expectations(recipe, parts, compilers, declared)
    return tuple(sorted(found, key=lambda item: (item.key, item.reference)))


def _flags(
    recipe: Recipe, asked: Wishes, renames: Mapping[str, str], front_end_only: Collection[str]
) -> Iterator[Expectation]:
    wishes = asked | definitions(recipe)
    raw = recipe.build.flags | recipe.build.cmake
    switches: Wishes = {}
    for name, (value, why) in wishes.items():
        state = switch_state(name, value, raw.get(name))
        # CMake's own variables are no options of the tree: they arrive as they were handed over
        if state and name not in front_end_only and not name.startswith("CMAKE_"):
            switches[name] = (state, why)
        else:
            kind = "contains" if name in _GROWS else "text"
            yield _expect("gate-flag", renames.get(name, name), kind, expand(value), why)
    for name, (state, why) in (switches | parents(switches)).items():
        yield _expect("gate-flag", renames.get(name, name), "switch", state, why)


def _expect(reference: str, key: str, kind: str, value: str, why: str) -> Expectation:
    return Expectation.model_validate(
        {"reference": reference, "key": key, "kind": kind, "value": value, "why": why}
    )


def _python(python: LockedPython) -> Iterator[Expectation]:
    """CMake knows the interpreter under several names; they must all be the locked one."""
    rows = (
        (r"_?(Python|Python3|PYTHON)_EXECUTABLE", "every", VENV_PYTHON),
        (r"_Python3?_INTERPRETER_PROPERTIES", "every-contains", f";{python.soabi};"),
        (r"_?Python3?_INCLUDE_DIR|PYTHON_INCLUDE_DIR", "each", python.include),
    )
    for key, kind, value in rows:
        yield _expect("gate-python", key, kind, value, "python")


def _numpy(recipe: Recipe) -> Iterator[Expectation]:
    value, _ = flags(recipe).get("USE_NUMPY", ("", ""))
    if switch_state("USE_NUMPY", value, None) == "ON":
        key = r"(_Python3?_NumPy_INCLUDE_DIR|Python3?_NumPy_INCLUDE_DIR|NUMPY_INCLUDE_DIR)"
        yield _expect("gate-numpy", key, "within", f"{BUILD_ROOT}/venv", "python, numpy")


def _blas(recipe: Recipe) -> Iterator[Expectation]:
    if recipe.blas is None:
        return
    fact = blas_fact(recipe.blas.provider)
    yield _expect("gate-blas", "BLAS", "text", fact.blas, "blas.provider")
    for key, part in fact.within.items():
        yield _expect("gate-blas", key, "contains", part, "blas.provider")
    for key, part in fact.where_asked.items():
        yield _expect("gate-blas", key, "every-contains", part, "blas.provider")


def _compilers(compilers: Mapping[str, str]) -> Iterator[Expectation]:
    for key, path in (("CMAKE_C_COMPILER", compilers["CC"]), ("CMAKE_CXX_COMPILER", compilers["CXX"])):
        yield _expect("gate-compiler", key, "path", path, "toolchain")
    # a tree may put a compiler cache that it finds in front of the compilers without being asked
    launcher = compilers.get("LAUNCHER", "")
    for key in ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"):
        yield _expect("gate-compiler", key, "text", launcher, "toolchain.compiler_cache")


def _compiler_flags(recipe: Recipe) -> Iterator[Expectation]:
    """CMake takes the usual variables once, as the beginning of its own; what it begins with is compared."""
    environ = recipe.build.env
    # a front end may take one for the other where only the first is set
    compiler = () if "CFLAGS" in environ and "CXXFLAGS" not in environ else ("CXXFLAGS",)
    rows = (
        ("CMAKE_C_FLAGS", environ.get("CFLAGS", ""), "build.env.CFLAGS"),
        *(("CMAKE_CXX_FLAGS", environ.get(name, ""), f"build.env.{name}") for name in compiler),
        ("CMAKE_SHARED_LINKER_FLAGS", linker_flags(recipe), "toolchain.linker, build.env.LDFLAGS"),
        ("CMAKE_MODULE_LINKER_FLAGS", linker_flags(recipe), "toolchain.linker, build.env.LDFLAGS"),
        ("CMAKE_EXE_LINKER_FLAGS", linker_flags(recipe), "toolchain.linker, build.env.LDFLAGS"),
    )
    for key, value, why in rows:
        if key not in recipe.build.cmake:
            yield _expect("gate-compiler", key, "exact", value, why)


def _generator(recipe: Recipe) -> Iterator[Expectation]:
    texts = (("CMAKE_GENERATOR", "Ninja"), ("CMAKE_BUILD_TYPE", recipe.build.type))
    for key, value in texts:
        yield _expect("gate-generator", key, "exact", value, "front end")
    paths = (
        ("CMAKE_CACHEFILE_DIR", f"{BUILD_ROOT}/source/build"),
        ("CMAKE_HOME_DIRECTORY", f"{BUILD_ROOT}/source"),
        ("CMAKE_MAKE_PROGRAM", NINJA),
    )
    for key, value in paths:
        yield _expect("gate-generator", key, "path", value, "front end")
    yield _expect("gate-generator", "CMAKE_COMMAND", "within", f"{BUILD_ROOT}/venv", "build requirements")
