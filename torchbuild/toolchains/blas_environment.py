"""How a build is told of its BLAS and OpenMP, and what must come of it. Pure.

What stands here goes beyond what every recipe with a BLAS gets anyway: the variable ``BLAS``, and the cache
entries and settings of its row in blas.toml. A BLAS of the builder alone adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchbuild.knowledge.blas_facts import openmp_fact
from torchbuild.model.lock import Expectation
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.blas_choice import is_static, library_words, openmp_of

__all__ = [
    "benign",
    "complete_request",
    "environment",
    "expectations",
    "look_request",
    "request_of",
    "settings",
]

Parts = Mapping[str, LockedPart]
"""Those of the recipe, by name: ``blas``, ``openmp``."""
_LAYERS = ("mkl_gnu_thread", "mkl_intel_thread", "mkl_sequential", "mkl_tbb_thread")
_MULTIARCH = ("lib", "lib64", "lib/intel64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")


def environment(recipe: Recipe, parts: Parts) -> dict[str, str]:
    """Further variables of the build, sorted.

    ``NAME_ROOT`` comes before all else where a search module looks; hints such as ``OpenBLAS_HOME`` come
    after the system's own places, and lose there.
    """
    blas, openmp = parts.get("blas"), parts.get("openmp")
    found: dict[str, str] = {}
    if recipe.openmp is not None and "USE_OPENMP" not in recipe.build.flags:
        found["USE_OPENMP"] = openmp_fact(openmp_of(recipe)).use_openmp
    if recipe.blas is not None and recipe.blas.provider == "mkl":
        found["MKL_THREADING"] = openmp_fact(openmp_of(recipe)).mkl_threading
    if recipe.blas is not None and blas is not None and blas.provider != "system":
        found |= _places(recipe.blas.provider, blas.prefix)
    if openmp is not None and openmp.provider != "system" and openmp_of(recipe) != "none":
        # the trees include their own search for OpenMP, which then has no NAME_ROOT
        found["CMAKE_LIBRARY_PATH"] = f"{openmp.prefix}/lib"
    return dict(sorted(found.items()))


def _places(blas: str, prefix: str) -> dict[str, str]:
    return {
        "mkl": {"INTEL_MKL_DIR": prefix, "MKL_ROOT": prefix},
        "openblas": {"OpenBLAS_HOME": prefix, "OpenBLAS_ROOT": prefix},
        "blis": {"BLAS_ROOT": prefix, "BLIS_HOME": prefix, "BLIS_ROOT": prefix},
        "generic": {"CMAKE_LIBRARY_PATH": f"{prefix}/lib"},
    }[blas]


def settings(recipe: Recipe) -> dict[str, str]:
    """Settings that ``config.show()`` must print besides those of the BLAS."""
    return dict(openmp_fact(openmp_of(recipe)).settings) if recipe.openmp is not None else {}


def benign(recipe: Recipe) -> tuple[str, ...]:
    """Regular expressions of whole names: entries that are NOTFOUND although all is as it should be."""
    looks = recipe.blas is not None and recipe.blas.provider in (
        "mkl",
        "blis",
    )  # FindBLAS.cmake tries MKL first
    return ("MKL_((CDFT|LAPACK|SCALAPACK|SOLVER)_LIBRARIES|LIBRARIES_.*_LIBRARY)",) if looks else ()


def expectations(recipe: Recipe, parts: Parts) -> tuple[Expectation, ...]:
    """What the gate compares besides the rows of the BLAS, sorted by key."""
    rows = (*_blas_rows(recipe, parts), *_openmp_rows(recipe, parts))
    return tuple(sorted(rows, key=lambda item: (item.key, item.reference)))


def _blas_rows(recipe: Recipe, parts: Parts) -> Iterator[Expectation]:
    blas = parts.get("blas")
    if recipe.blas is None or blas is None:
        return
    if recipe.blas.provider == "mkl":
        yield from _mkl_rows(recipe)
    if blas.provider == "system":
        return
    layers = "|".join(library_words(recipe))
    entries = {
        "mkl": (rf"MKL_LIBRARIES_(lib)?({layers})(\.a)?_LIBRARY", "MKL_INCLUDE_DIR"),
        "openblas": ("OpenBLAS_LIB", "OpenBLAS_INCLUDE_DIR"),
        "blis": ("BLIS_LIB|BLAS_blis_LIBRARY", "BLIS_INCLUDE_DIR"),
        "generic": ("BLAS_[a-z]+_LIBRARY|BLAS_LIBRARIES",),
    }[recipe.blas.provider]
    for key in entries:
        yield _row("gate-blas", key, "within", blas.prefix, "blas")


def _mkl_rows(recipe: Recipe) -> Iterator[Expectation]:
    """The combination that linked; a search that found another layer, or none, goes on without a word."""
    fact = openmp_fact(openmp_of(recipe))
    ending = r"\.a" if is_static(recipe) else ""
    runtime = f"{fact.mkl_runtime}_" if fact.mkl_runtime else ""
    key = rf"MKL_LIBRARIES_.*{fact.mkl_thread}{ending}_.*mkl_core{ending}_.*{runtime}.*_WORKS"
    yield _row("gate-blas", key, "contains", "1", "blas, openmp")
    yield _row("gate-blas", "MKL_THREADING", "text", fact.mkl_threading, "openmp.provider")


def _openmp_rows(recipe: Recipe, parts: Parts) -> Iterator[Expectation]:
    openmp = parts.get("openmp")
    is_mkl = recipe.blas is not None and recipe.blas.provider == "mkl"
    if recipe.openmp is None and not is_mkl:
        return
    fact = openmp_fact(openmp_of(recipe))
    yield _row("gate-openmp", "USE_OPENMP", "switch", fact.use_openmp, "openmp.provider")
    places: dict[str, str] = {}
    if openmp is not None and openmp.provider != "system" and fact.library:
        names = ("OpenMP_libomp_LIBRARY", "MKL_LIBRARIES_iomp5_LIBRARY")
        places = dict.fromkeys(names if is_mkl else names[:1], openmp.prefix)
    for key, part in fact.within.items():
        if key not in places:
            yield _row("gate-openmp", key, "contains", part, "openmp.provider")
    for key, prefix in places.items():
        yield _row("gate-openmp", key, "within", prefix, "openmp")


def _row(reference: str, key: str, kind: str, value: str, why: str) -> Expectation:
    return Expectation.model_validate(
        {"reference": reference, "key": key, "kind": kind, "value": value, "why": why}
    )


def complete_request(part: LockedPart) -> dict[str, Any]:
    """What complete_blas.py is asked for a part of our own."""
    folder = f"{part.prefix}/lib"
    if part.name == "openmp":
        # the first name that the trees look for; the compiler's own would be the second
        return {"folder": folder, "links": [], "aliases": {"libomp.so": "libiomp5.so"}, "drop": []}
    names = part.says.get("libraries", "").split()
    if part.says.get("linkage") == "static":
        drop = [f"lib{layer}.a" for layer in _LAYERS if layer not in names]
        return {"folder": folder, "links": [], "aliases": {}, "drop": drop}
    return {"folder": folder, "links": [f"lib{name}.so" for name in names], "aliases": {}, "drop": []}


def look_request(recipe: Recipe, parts: Parts, cc: str, scratch: str) -> dict[str, Any]:
    """What look_blas.py is asked: once for both parts."""
    return request_of(openmp_of(recipe), parts, cc, scratch)


def request_of(kind: str, parts: Parts, cc: str, scratch: str) -> dict[str, Any]:
    """The same where the recipe is not at hand: a lock's parts say all but the kind of the runtime."""
    blas, openmp = parts.get("blas"), parts.get("openmp")
    request: dict[str, Any] = {"cc": cc, "scratch": scratch, "openmp": None, "blas": None}
    if kind != "none":
        of_compiler = openmp is None or openmp.provider == "system"
        request["openmp"] = {
            "names": list(openmp_fact(kind).names[:1]),
            "folders": _folders(openmp),
            "is_ours": not (of_compiler and kind == "gomp"),
        }
    if blas is not None:
        request["blas"] = {
            "names": blas.says.get("libraries", "").split(),
            "folders": _folders(blas),
            "lapack": ["lapack"] if blas.says.get("blas") == "generic" else [],
            "is_static": blas.says.get("linkage") == "static",
        }
    return request


def _folders(part: LockedPart | None) -> list[str]:
    """Where its libraries may lie; the builder's own are the linker's business."""
    if part is None or part.provider == "system":
        return []
    return [f"{part.prefix}/{folder}" for folder in _MULTIARCH]
