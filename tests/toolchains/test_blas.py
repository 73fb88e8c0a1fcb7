"""BLAS of a recipe: what is asked of the index, what is laid, what a build is told, and what is refused at once."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from torchbuild.errors import ConflictError
from torchbuild.model.artifact import Artifact
from torchbuild.model.frozen import frozen_value
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.expectations import _blas
from torchbuild.shim.cache import parse_cache
from torchbuild.shim.gate import compare
from torchbuild.toolchains import blas_builder, blas_wheels, openmp_builder, openmp_wheels
from torchbuild.toolchains.blas_environment import (
    benign,
    complete_request,
    environment,
    expectations,
    look_request,
    settings,
)
from torchbuild.toolchains.provider import Answers, Questions

CACHES = Path(__file__).parents[1] / "data" / "caches"
LEAST = """\
schema = 1
name = "sample"
source = { git = "https://example.org/sample.git", ref = "v1" }
wheel = { version = "2.6.0" }
"""
MKL = "[blas]\nprovider = 'mkl'\nfrom = 'wheels'\n"
IOMP = "[openmp]\nprovider = 'iomp'\nfrom = 'wheels'\n"
NONE = "[openmp]\nprovider = 'none'\n"
STATIC = "[build]\nflags = { USE_STATIC_MKL = true }\n"
GENERIC = "[blas]\nprovider = 'generic'\n"
NAMED = "[build]\nenv = { GENERIC_BLAS_LIBRARIES = 'blas' }\n"
BLIS = "[blas]\nprovider = 'blis'\nfrom = 'path'\npath = '/torchbuild/parts/blas'\n"
OPENBLAS = "[blas]\nprovider = 'openblas'\n"
END = "-py2.py3-none-manylinux_2_28_x86_64.whl"


def _recipe(tables: str) -> Recipe:
    """What is not supported yet may stand in it."""
    return Recipe.model_validate(frozen_value(tomllib.loads(LEAST + tables)))


def _answers(*names: str) -> Answers:
    wheels = (Artifact(locator=f"pypi:x/{name}{END}", sha256="ab" * 32) for name in names)
    return Answers(wheels=tuple(wheels))


def _parts(recipe: Recipe, version: str = "2026.2.0") -> dict[str, LockedPart]:
    found = {}
    if recipe.blas is not None:
        provider = blas_wheels if recipe.blas.source == "wheels" else blas_builder
        names = [name.partition("==")[0] for name in provider.questions(recipe).wheels]
        said = _answers(*(f"{name.replace('-', '_')}-{version}" for name in names))
        found["blas"] = provider.part(recipe, said)
    if recipe.openmp is not None and recipe.openmp.source == "wheels":
        found["openmp"] = openmp_wheels.part(recipe, _answers(f"intel_openmp-{version}"))
    elif recipe.openmp is not None:
        found["openmp"] = openmp_builder.part(recipe, Answers())
    return found


def _rows(tables: str) -> list[dict[str, Any]]:
    """All that the gate compares of BLAS and OpenMP: no entry twice under one name."""
    recipe = _recipe(tables)
    rows = [*_blas(recipe), *expectations(recipe, _parts(recipe))]
    assert len({(row.key, row.reference) for row in rows}) == len(rows)
    return [row.model_dump() for row in rows]


def _failed(cache: str, tables: str) -> set[str]:
    """Entries that the gate refuses in the cache of a real PyTorch 2.6."""
    entries = parse_cache((CACHES / f"blas-{cache}.txt").read_text(encoding="utf-8"))
    findings = compare(entries, _rows(tables))
    return {item["what"].partition(" (")[0] for item in findings if item["outcome"] == "failed"}


def _reference(tables: str) -> str:
    with pytest.raises(ConflictError) as caught:
        blas_builder.questions(_recipe(tables))
    assert caught.value.why
    assert caught.value.fix
    return caught.value.reference


def test_mkl_is_asked_for_by_version_or_as_the_newest() -> None:
    """A lock pins what the index has: the recipe's version of libraries and headers, or the newest."""
    assert blas_wheels.questions(_recipe(MKL)).wheels == ("mkl", "mkl-include")
    assert blas_wheels.questions(_recipe(MKL + "version = '2024.2.2'\n")).wheels == (
        "mkl==2024.2.2",
        "mkl-include==2024.2.2",
    )
    assert blas_wheels.questions(_recipe(MKL + STATIC)).wheels == ("mkl-static", "mkl-include")


def test_mkl_is_laid_out_of_the_wheels_data() -> None:
    """Libraries and headers, and nothing else of the wheels; the part says which layers it is for."""
    part = _parts(_recipe(MKL))["blas"]

    assert (part.version, part.prefix, part.is_ours) == ("2026.2.0", "/torchbuild/parts/blas", True)
    assert [(piece.only, piece.to) for piece in part.pieces] == [
        ("mkl-2026.2.0.data/data/lib", "lib"),
        ("mkl_include-2026.2.0.data/data/include", "include"),
    ]
    assert part.says == {
        "blas": "mkl",
        "libraries": "mkl_intel_lp64 mkl_gnu_thread mkl_core",
        "linkage": "shared",
    }


@pytest.mark.parametrize(
    ("names", "reference"),
    [
        (("mkl-2026.2.0", "mkl_include-2026.1.0"), "blas-wheels-differ"),
        (("mkl-2026.2.0", "mkl_devel-2026.2.0"), "blas-wheel-unexpected"),
        (("mkl", "mkl_include-2026.2.0"), "blas-wheel-unexpected"),
    ],
)
def test_other_wheels_than_asked_for_are_refused(names: tuple[str, ...], reference: str) -> None:
    """Headers of another release compile, and crash later."""
    with pytest.raises(ConflictError) as caught:
        blas_wheels.part(_recipe(MKL), _answers(*names))

    assert caught.value.reference == reference


def test_another_version_than_the_recipes_is_refused() -> None:
    """An index that answers with what it has is no answer."""
    with pytest.raises(ConflictError) as caught:
        _parts(_recipe(MKL + "version = '2024.2.2'\n"))

    assert caught.value.reference == "blas-wheel-unexpected"


@pytest.mark.parametrize(
    ("tables", "reference"),
    [
        ("[blas]\nprovider = 'openblas'\nfrom = 'wheels'\n", "blas-not-as-wheels"),
        ("[blas]\nprovider = 'blis'\nfrom = 'wheels'\n", "blas-not-as-wheels"),
        (GENERIC.replace("generic'", "generic'\nfrom = 'wheels'"), "blas-not-as-wheels"),
        (MKL + "[target]\nmachine = 'aarch64'\n", "blas-not-for-machine"),
        ("[blas]\nprovider = 'mkl'\n" + IOMP, "blas-openmp-contradict"),
        ("[blas]\nprovider = 'mkl'\nfrom = 'path'\npath = '/opt/mkl'\n" + IOMP, "blas-openmp-contradict"),
        (GENERIC + IOMP + NAMED, "blas-openmp-contradict"),
        (GENERIC, "blas-library-unnamed"),
        ("[blas]\nfrom = 'path'\n", "blas-path-missing"),
        ("[openmp]\nfrom = 'path'\n", "blas-path-missing"),
        (BLIS + "[verify]\nrequire = ['svd']\n", "blas-without-lapack"),
        (MKL + "[build]\nenv = { MKL_THREADING = 'GNU' }\n", "mkl-threading-contradicts"),
        (MKL + "[build]\nenv = { MKL_THREADING = 'TBB' }\n", "mkl-threading-contradicts"),
        (MKL + NONE + "[build]\ncmake = { MKL_THREADING = 'OMP' }\n", "mkl-threading-contradicts"),
        (MKL + "[toolchain]\ncc = 'clang'\ncxx = 'clang++'\n", "openmp-not-of-compiler"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_fetched(tables: str, reference: str) -> None:
    """Seconds after the recipe was written, with the reason and a way out."""
    assert _reference(tables) == reference


@pytest.mark.parametrize(
    "tables",
    [
        MKL,
        MKL + IOMP,
        MKL + NONE,
        MKL + STATIC,
        MKL + IOMP + STATIC,
        BLIS,
        OPENBLAS,
        OPENBLAS + IOMP,
        GENERIC + NAMED,
        MKL + "[build]\nenv = { MKL_THREADING = 'OMP' }\n",
        MKL + IOMP + "[toolchain]\ncxx = 'clang++'\n",
    ],
)
def test_what_can_be_is_not_refused(tables: str) -> None:
    """Each of these was configured, or says again what follows anyway."""
    recipe = _recipe(tables)

    assert (blas_wheels if "'wheels'" in tables.partition("[openmp]")[0] else blas_builder).questions(recipe)
    assert _parts(recipe)["blas"].says["blas"] == tables.split("'")[1]


def test_a_tree_of_another_name_has_its_own_generic_blas() -> None:
    """What is known of torch's tree is not held against others."""
    other = LEAST.replace('version = "2.6.0"', 'package = "torchlet", version = "1.0"')
    recipe = Recipe.model_validate(frozen_value(tomllib.loads(other + GENERIC)))

    assert blas_builder.questions(recipe) == Questions()


@pytest.mark.parametrize("tables", ["", OPENBLAS, GENERIC + NAMED])
def test_a_blas_of_the_builder_adds_nothing(tables: str) -> None:
    """Locks that were made before a BLAS could come from elsewhere stay as they are."""
    recipe = _recipe(tables)

    assert environment(recipe, _parts(recipe)) == {}
    assert expectations(recipe, _parts(recipe)) == ()
    assert settings(recipe) == {}
    assert benign(recipe) == ()


def test_a_build_with_mkl_is_told_where_it_is() -> None:
    """By what a search module looks at first, and by the tree's own word for it."""
    recipe = _recipe(MKL + IOMP)

    assert environment(recipe, _parts(recipe)) == {
        "CMAKE_LIBRARY_PATH": "/torchbuild/parts/openmp/lib",
        "INTEL_MKL_DIR": "/torchbuild/parts/blas",
        "MKL_ROOT": "/torchbuild/parts/blas",
        "MKL_THREADING": "OMP",
        "USE_OPENMP": "ON",
    }
    assert settings(recipe) == {"USE_OPENMP": "ON"}


@pytest.mark.parametrize(
    ("tables", "variables"),
    [
        (BLIS, {"BLAS_ROOT", "BLIS_HOME", "BLIS_ROOT"}),
        (OPENBLAS + "from = 'path'\npath = '/opt/o'\n", {"OpenBLAS_HOME", "OpenBLAS_ROOT"}),
        (GENERIC + "from = 'path'\npath = '/opt/o'\n" + NAMED, {"CMAKE_LIBRARY_PATH"}),
        ("[blas]\nprovider = 'mkl'\n" + NONE, {"MKL_THREADING", "USE_OPENMP"}),
        (OPENBLAS + NONE + "[build]\nflags = { USE_OPENMP = false }\n", set()),
    ],
)
def test_each_blas_is_told_in_its_own_words(tables: str, variables: set[str]) -> None:
    """A hint that loses against the system's own places is not enough."""
    recipe = _recipe(tables)

    assert environment(recipe, _parts(recipe)).keys() == variables


@pytest.mark.parametrize(
    ("cache", "tables"),
    [
        ("mkl-gomp", MKL),
        ("mkl-gomp", MKL + "[openmp]\nprovider = 'gomp'\n"),
        ("mkl-iomp", MKL + IOMP),
        ("mkl-none", MKL + NONE),
        ("mkl-static", MKL + STATIC),
        ("blis", BLIS),
        ("generic", GENERIC + NAMED),
        ("openblas-iomp", OPENBLAS + IOMP),
    ],
)
def test_a_tree_that_is_as_asked_passes(cache: str, tables: str) -> None:
    """Real caches of PyTorch 2.6, one for each kind."""
    assert _failed(cache, tables) == set()


def test_two_runtimes_in_one_tree_are_refused() -> None:
    """MKL with Intel's runtime, and the compiler's for all else: what the tree did before the other name was laid."""
    assert _failed("mkl-iomp-two-runtimes", MKL + IOMP) == {"OpenMP_libomp_LIBRARY"}


@pytest.mark.parametrize("cache", ["mkl-missing", "generic", "blis"])
def test_a_silent_fall_back_is_refused(cache: str) -> None:
    """BLAS=MKL stands in the cache, and what is linked is whatever was found."""
    assert {r"MKL_LIBRARIES_(lib)?mkl_core(\.a)?_LIBRARY", "MKL_INCLUDE_DIR"} <= _failed(cache, MKL)
    assert r"MKL_LIBRARIES_(lib)?mkl_core(\.a)?_LIBRARY" in _failed(cache, "[blas]\nprovider = 'mkl'\n")


@pytest.mark.parametrize("tables", [BLIS, OPENBLAS, MKL, MKL + STATIC])
def test_generic_is_only_taken_when_it_is_asked_for(tables: str) -> None:
    """Whoever names a BLAS does not get the slow one."""
    assert "BLAS" in _failed("generic", tables)


@pytest.mark.parametrize(
    ("cache", "tables"), [("mkl-none", MKL), ("mkl-gomp", MKL + NONE), ("mkl-gomp", MKL + STATIC)]
)
def test_another_layer_or_kind_is_refused(cache: str, tables: str) -> None:
    """A sequential MKL is slow, and a shared one is not in the wheel: neither says so."""
    assert any("WORKS" in key for key in _failed(cache, tables))


def test_an_mkl_from_elsewhere_is_refused() -> None:
    """The version that was locked, not the one that the builder happens to have."""
    recipe = _recipe(MKL)
    text = (
        (CACHES / "blas-mkl-gomp.txt")
        .read_text(encoding="utf-8")
        .replace("/torchbuild/parts/blas", "/opt/mkl")
    )
    rows = [row.model_dump() for row in expectations(recipe, _parts(recipe))]
    failed = {item["what"] for item in compare(parse_cache(text), rows) if item["outcome"] == "failed"}

    assert any(what.startswith("MKL_INCLUDE_DIR") for what in failed)
    assert any(what.startswith("MKL_LIBRARIES_(lib)?(") for what in failed)


def test_what_is_not_found_and_need_not_be_is_named() -> None:
    """The tree looks for layers that were never laid."""
    (pattern,) = benign(_recipe(MKL))
    entries = parse_cache((CACHES / "blas-mkl-iomp.txt").read_text(encoding="utf-8"))
    missing = [name for name, entry in entries.items() if entry.value.endswith("NOTFOUND")]

    assert len(missing) == 8
    assert not [name for name in missing if not re.fullmatch(pattern, name)]


def test_only_the_layers_of_the_recipe_get_names() -> None:
    """A search that tries all layers finds the one that is meant."""
    shared, static = (_parts(_recipe(MKL + IOMP + more)) for more in ("", STATIC))

    assert complete_request(shared["blas"])["links"] == [
        "libmkl_intel_lp64.so",
        "libmkl_intel_thread.so",
        "libmkl_core.so",
    ]
    assert "libmkl_gnu_thread.a" in complete_request(static["blas"])["drop"]
    assert "libmkl_intel_thread.a" not in complete_request(static["blas"])["drop"]
    assert complete_request(shared["openmp"])["aliases"] == {"libomp.so": "libiomp5.so"}


def test_the_look_is_taken_as_the_tree_links() -> None:
    """The compiler's own runtime comes by its option, another one by its file."""

    def asked(tables: str) -> dict[str, Any]:
        recipe = _recipe(tables)
        return look_request(recipe, _parts(recipe), "/usr/bin/gcc", "/torchbuild/tmp/look")

    assert asked(MKL)["openmp"] == {"names": ["gomp"], "folders": [], "is_ours": False}
    assert asked(MKL + IOMP)["openmp"]["names"] == ["omp"]
    assert asked(MKL + IOMP)["openmp"]["folders"][0] == "/torchbuild/parts/openmp/lib"
    assert asked(MKL + NONE)["openmp"] is None
    assert asked(GENERIC + NAMED)["blas"] == {
        "names": ["blas"],
        "folders": [],
        "lapack": ["lapack"],
        "is_static": False,
    }
    assert asked("")["blas"] is None
