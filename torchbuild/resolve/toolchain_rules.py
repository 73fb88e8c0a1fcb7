"""Keys of the toolkit's and the libraries' tables that go together, and switches that contradict a table."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.errors import Problem
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.gpu_arch import parse_arch
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Blas, Cuda, Library, Openmp
from torchbuild.resolve.addresses import locator_problems
from torchbuild.resolve.default_archs import derives_archs
from torchbuild.resolve.problems import shown
from torchbuild.toolchains import blas_environment, library_environment
from torchbuild.toolchains.wished import LIBRARIES

__all__ = ["toolchain_problems"]

_ON = ("1", "ON", "TRUE", "YES", "Y")
_OWNED = {
    "CMAKE_CUDA_ARCHITECTURES": "cuda.archs",
    "CMAKE_CUDA_COMPILER": "cuda",
    "CMAKE_CUDA_COMPILER_LAUNCHER": "toolchain.compiler_cache",
    "CMAKE_CUDA_HOST_COMPILER": "toolchain.cxx",
    "CUDACXX": "cuda",
    "CUDAHOSTCXX": "toolchain.cxx",
    "CUDAToolkit_ROOT": "cuda",
    "CUDA_BIN_PATH": "cuda",
    "CUDA_HOME": "cuda",
    "CUDA_HOST_COMPILER": "toolchain.cxx",
    "CUDA_NVCC_EXECUTABLE": "cuda",
    "CUDA_PATH": "cuda",
    "NVCC_CCBIN": "toolchain.cxx",
    "TORCH_CUDA_ARCH_LIST": "cuda.archs",
}
"""Variables that a table sets under every name."""


def toolchain_problems(recipe: Recipe) -> Iterator[Problem]:
    """What is wrong with the tables, whatever the world says."""
    if recipe.cuda is not None:
        if not recipe.cuda.archs and not derives_archs(recipe):
            wanted = "architectures, such as 9.0 or 8.6+PTX, or target.gpus, of which they follow"
            yield _problem("cuda.archs", "nothing", wanted)
        yield from _cuda(recipe.cuda)
    for name in LIBRARIES:
        library = getattr(recipe, name)
        if library is not None:
            yield from _library(name, library)
            if recipe.cuda is None:
                yield _problem(name, "a table", "a table [cuda] with it: it is a library of the toolkit")
    yield from _switch(recipe)
    yield from library_environment.problems(recipe)
    yield from _variables(recipe)
    yield from _algebra_variables(recipe)
    for name, table in (("blas", recipe.blas), ("openmp", recipe.openmp)):
        if table is not None:
            yield from _algebra(name, table)


def _problem(path: str, seen: str, wanted: str) -> Problem:
    return Problem(path=path, seen=seen, wanted=wanted)


def _cuda(cuda: Cuda) -> Iterator[Problem]:
    for index, text in enumerate(cuda.archs):
        same = [other for other in cuda.archs[:index] if _chip(other) == _chip(text)]
        if same:
            yield _problem(f"cuda.archs[{index}]", shown(text), f"each once: {same[0]} stands before it")
    yield from _places("cuda", cuda, ("apt", "system"), ("runfile",))
    if cuda.source == "system" and cuda.path is None:
        yield _problem("cuda.path", "nothing", 'where the toolkit is, absolute: from = "system"')


def _chip(text: str) -> str:
    return parse_arch(text).capability


def _library(name: str, library: Library) -> Iterator[Problem]:
    yield from _places(name, library, ("system",), ("tarball", "source"))
    if library.source in ("source", "bundled") and name != "nccl":
        wanted = "tarball, wheels or system: only NCCL is built from source, or brought by the tree"
        yield _problem(f"{name}.from", shown(library.source), wanted)
    if library.source == "wheels" and name == "magma":
        wanted = "tarball with its archive, or system: nobody publishes it as a wheel"
        yield _problem(f"{name}.from", shown(library.source), wanted)
    if library.version is None and library.source not in ("system", "bundled"):
        yield _problem(f"{name}.version", "nothing", "a release: nothing is chosen by chance")
    if library.version is not None and library.source == "bundled":
        yield _problem(f"{name}.version", shown(library.version), "none: the tree's own pin counts")


def _places(
    name: str, table: Cuda | Library, with_path: tuple[str, ...], with_archive: tuple[str, ...]
) -> Iterator[Problem]:
    if table.path is not None and table.source not in with_path:
        wanted = f"no path unless from is {' or '.join(with_path)}"
        yield _problem(f"{name}.path", shown(table.path), wanted)
    elif table.path is not None:
        yield from _path(name, table.path)
    if table.archive is not None and table.source in with_archive:
        yield from locator_problems(f"{name}.archive", table.archive)
    for key in ("archive", "sha256"):
        value = getattr(table, key)
        if value is not None and table.source not in with_archive:
            wanted = f"no {key} unless from is {' or '.join(with_archive)}"
            yield _problem(f"{name}.{key}", shown(value), wanted)


def _path(name: str, path: str) -> Iterator[Problem]:
    """What lies in the build's own place is not the builder's, and is made anew for every build."""
    if f"{path.rstrip('/')}/".startswith(f"{BUILD_ROOT}/"):
        yield _problem(
            f"{name}.path", shown(path), f"a place of the builder: {BUILD_ROOT} is the build's own"
        )


def _switch(recipe: Recipe) -> Iterator[Problem]:
    """The switch of the toolkit itself; those of libraries are weighed with their own."""
    value = recipe.build.flags.get("USE_CUDA")
    if value is None:
        return
    is_on = str(value).upper() in _ON
    if recipe.cuda is not None and not is_on:
        yield _problem("build.flags.USE_CUDA", shown(value), "ON, or no table: [cuda] says so")
    if recipe.cuda is None and is_on:
        wanted = "a table [cuda] with it: else CMake would take whatever toolkit it finds"
        yield _problem("build.flags.USE_CUDA", shown(value), wanted)


def _variables(recipe: Recipe) -> Iterator[Problem]:
    if recipe.cuda is None:
        return
    for table, rows in (("build.env", recipe.build.env), ("build.cmake", recipe.build.cmake)):
        for name in rows:
            # those of CMake are told to leave build.env whatever they are
            if name in _OWNED and not (table == "build.env" and name.startswith("CMAKE_")):
                yield _problem(f"{table}.{name}", f"the name {shown(name)}", _OWNED[name])


def _algebra_variables(recipe: Recipe) -> Iterator[Problem]:
    """What the tables of BLAS and OpenMP set is theirs: one of two values would be lost in silence."""
    tables = {"blas": recipe.blas, "openmp": recipe.openmp}
    parts: dict[str, LockedPart] = {}
    for name, table in tables.items():
        if table is not None and table.source != "system":
            parts[name] = LockedPart.model_validate(
                {"name": name, "provider": table.source, "version": "", "prefix": table.path or "/usr"}
            )
    for variable in blas_environment.environment(recipe, parts):
        for where, rows in (("build.env", recipe.build.env), ("build.cmake", recipe.build.cmake)):
            if variable in rows:
                wanted = "nothing: the tables [blas] and [openmp] decide it"
                yield _problem(f"{where}.{variable}", f"the name {shown(variable)}", wanted)


def _algebra(name: str, table: Blas | Openmp) -> Iterator[Problem]:
    if table.version is not None and table.source != "wheels":
        yield _problem(f"{name}.version", shown(table.version), 'no version unless from = "wheels"')
    if table.source == "path" and table.path is None:
        yield _problem(f"{name}.path", "nothing", 'an absolute path: from = "path"')
    if table.source != "path" and table.path is not None:
        yield _problem(f"{name}.path", shown(table.path), 'no path unless from = "path"')
    elif table.path is not None:
        yield from _path(name, table.path)
