"""Keys of the toolkit's and the libraries' tables that go together, and switches that contradict a table."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.errors import Problem
from torchbuild.model.gpu_arch import parse_arch
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Blas, Cuda, Library, Openmp
from torchbuild.resolve.problems import shown
from torchbuild.toolchains import library_environment
from torchbuild.toolchains.wished import LIBRARIES

__all__ = ["toolchain_problems"]

_ON = ("1", "ON", "TRUE", "YES", "Y")
_OWNED = {
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
    for name, table in (("blas", recipe.blas), ("openmp", recipe.openmp)):
        if table is not None:
            yield from _algebra(name, table)


def _problem(path: str, seen: str, wanted: str) -> Problem:
    return Problem(path=path, seen=seen, wanted=wanted)


def _cuda(cuda: Cuda) -> Iterator[Problem]:
    if not cuda.archs:
        yield _problem("cuda.archs", "nothing", "architectures, such as 9.0 or 8.6+PTX: nothing is detected")
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
    if table.path is not None and not table.path.startswith("/"):
        yield _problem(f"{name}.path", shown(table.path), "an absolute path inside the builder")
    for key in ("archive", "sha256"):
        value = getattr(table, key)
        if value is not None and table.source not in with_archive:
            wanted = f"no {key} unless from is {' or '.join(with_archive)}"
            yield _problem(f"{name}.{key}", shown(value), wanted)


def _switch(recipe: Recipe) -> Iterator[Problem]:
    """The switch of the toolkit itself; those of libraries are weighed with their own."""
    value = recipe.build.flags.get("USE_CUDA")
    if recipe.cuda is not None and value is not None and str(value).upper() not in _ON:
        yield _problem("build.flags.USE_CUDA", shown(value), "ON, or no table: [cuda] says so")


def _variables(recipe: Recipe) -> Iterator[Problem]:
    if recipe.cuda is None:
        return
    for table, rows in (("build.env", recipe.build.env), ("build.cmake", recipe.build.cmake)):
        for name in rows:
            if name in _OWNED:
                yield _problem(f"{table}.{name}", f"the name {shown(name)}", _OWNED[name])


def _algebra(name: str, table: Blas | Openmp) -> Iterator[Problem]:
    if table.version is not None and table.source != "wheels":
        yield _problem(f"{name}.version", shown(table.version), 'no version unless from = "wheels"')
    if table.source == "path" and (table.path is None or not table.path.startswith("/")):
        yield _problem(f"{name}.path", shown(table.path), 'an absolute path: from = "path"')
