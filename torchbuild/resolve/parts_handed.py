"""How toolkit and libraries are handed to the build, and what configure must have made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from torchbuild.knowledge.tables import EraFact
from torchbuild.model.gpu_arch import wanted_ptx, wanted_sass
from torchbuild.model.lock import Expectation
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.variables import BASE
from torchbuild.toolchains import blas_environment, library_environment
from torchbuild.toolchains.cuda_environment import cuda_environment, cuda_path
from torchbuild.toolchains.host_compiler_names import compiler_environment, compiler_expectations
from torchbuild.toolchains.wished import arch_list, wished_parts

__all__ = [
    "Parts",
    "by_name",
    "parts_definitions",
    "parts_environment",
    "parts_expectations",
    "parts_or_wished",
]

Parts = tuple[LockedPart, ...]
_MAJOR_MINOR = 2


def parts_or_wished(recipe: Recipe, parts: Parts | None) -> Parts:
    """The parts as they are locked; before they are, the places that the recipe gives them."""
    return wished_parts(recipe) if parts is None else parts


def parts_environment(
    recipe: Recipe, parts: Parts, compilers: Mapping[str, str], declared: Collection[str] = ()
) -> dict[str, str]:
    """Variables of a build with these parts. They go on top of the recipe's own, which some of them keep."""
    environ = blas_environment.environment(recipe, by_name(parts))
    cuda = next((part for part in parts if part.name == "cuda"), None)
    if cuda is None:
        return environ
    environ |= compiler_environment(compilers["CC"], compilers["CXX"], recipe.build.env)
    environ |= cuda_environment(cuda, compilers["CXX"]) | library_environment.environment(parts, declared)
    environ |= {"PATH": cuda_path(cuda, BASE["PATH"]), "TORCH_CUDA_ARCH_LIST": arch_list(recipe)}
    if compilers.get("LAUNCHER"):
        environ["CMAKE_CUDA_COMPILER_LAUNCHER"] = compilers["LAUNCHER"]
    return environ


def by_name(parts: Parts) -> dict[str, LockedPart]:
    """The parts by what they are."""
    return {part.name: part for part in parts}


def parts_definitions(parts: Parts, era: EraFact) -> dict[str, str]:
    """What configure would look for, given beforehand, where the era has a way in."""
    return library_environment.definitions(parts, era)


def parts_expectations(
    recipe: Recipe, parts: Parts, compilers: Mapping[str, str], declared: Collection[str]
) -> Iterator[Expectation]:
    """What the gate compares: one toolkit, one host compiler, the libraries, the architectures."""
    yield from blas_environment.expectations(recipe, by_name(parts))
    cuda = next((part for part in parts if part.name == "cuda"), None)
    if cuda is None or recipe.cuda is None:
        return
    prefix, cxx = cuda.prefix, compilers["CXX"]
    nvcc, release = f"{prefix.rstrip('/')}/bin/nvcc", ".".join(cuda.version.split(".")[:_MAJOR_MINOR])
    code = " ".join(sorted((*wanted_sass(recipe.cuda.archs), *wanted_ptx(recipe.cuda.archs))))
    rows = (
        ("CMAKE_CUDA_COMPILER", "path", nvcc),
        ("CUDA_NVCC_EXECUTABLE", "each", nvcc),
        ("CUDA_TOOLKIT_ROOT_DIR", "each", prefix),
        ("CUDA_VERSION", "every-contains", release),
        ("CMAKE_CUDA_COMPILER_LAUNCHER", "text", compilers.get("LAUNCHER", "")),
        ("NINJA_CUDA_COMPILER", "path", nvcc),
        ("NINJA_CUDA_HOST_COMPILER", "path", cxx),
    )
    for key, kind, value in rows:
        yield _expect("gate-cuda", key, kind, value, "cuda")
    if recipe.wheel.package == "torch":  # another tree may find its toolkit by other modules
        key = "CUDA_cudart_LIBRARY|CUDA_CUDART_LIBRARY|CUDA_CUDART"
        yield _expect("gate-cuda", key, "within", prefix, "cuda")
    yield _expect("gate-architectures", "TORCH_CUDA_ARCH_LIST", "text", arch_list(recipe), "cuda.archs")
    yield _expect("gate-architectures", "NINJA_CUDA_CODE", "exact", code, "cuda.archs")
    yield from compiler_expectations(cxx)
    yield from library_environment.expectations(parts, declared)


def _expect(reference: str, key: str, kind: str, value: str, why: str) -> Expectation:
    return Expectation.model_validate(
        {"reference": reference, "key": key, "kind": kind, "value": value, "why": why}
    )
