"""Which BLAS with which OpenMP runtime: what a recipe means, and what no tree can have."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename

from torchbuild.errors import ConflictError
from torchbuild.knowledge.blas_facts import absent_wheels, blas_wheels, openmp_fact, refused_pair
from torchbuild.model.recipe import Recipe

__all__ = ["is_static", "library_words", "mkl_libraries", "openmp_of", "refuse_contradictions"]

_ON = {"ON", "1", "TRUE", "YES", "Y"}
_WORDS = {"openblas": ("openblas",), "blis": ("blis",), "generic": ("blas",)}


def openmp_of(recipe: Recipe) -> str:
    """``gomp``, ``iomp`` or ``none``. Where the recipe has no table: the compiler's, unless it is off."""
    if recipe.openmp is not None:
        return recipe.openmp.provider
    return "gomp" if _flag(recipe, "USE_OPENMP") in (None, True) else "none"


def _flag(recipe: Recipe, name: str) -> bool | None:
    """A switch of the recipe; None where it does not name it."""
    value = recipe.build.flags.get(name)
    return None if value is None else str(value).upper() in _ON


def is_static(recipe: Recipe) -> bool:
    """Whether MKL goes into the wheel: the trees' ``USE_STATIC_MKL``, off where nobody says."""
    return recipe.blas is not None and recipe.blas.provider == "mkl" and bool(_flag(recipe, "USE_STATIC_MKL"))


def mkl_libraries(openmp: str) -> tuple[str, ...]:
    """The three layers of MKL that go with a runtime, as a linker is told."""
    return ("mkl_intel_lp64", openmp_fact(openmp).mkl_thread, "mkl_core")


def library_words(recipe: Recipe) -> tuple[str, ...]:
    """The recipe's BLAS as a linker is told."""
    blas = recipe.blas.provider if recipe.blas is not None else ""
    return mkl_libraries(openmp_of(recipe)) if blas == "mkl" else _WORDS.get(blas, ())


def refuse_contradictions(recipe: Recipe) -> None:
    """Each value may be fine and the combination impossible.

    Raises:
        ConflictError: ``blas-not-as-wheels``, ``openmp-not-as-wheels``, ``blas-not-for-machine``,
            ``blas-openmp-contradict``, ``mkl-threading-contradicts``, ``openmp-flag-contradicts``,
            ``openmp-not-of-compiler``, ``blas-without-lapack``, ``blas-library-unnamed``,
            ``blas-path-missing``.
    """
    for rule in (_paths, _wheels, _openmp_wheels, _pair, _threading, _tree):
        for error in rule(recipe):
            raise error


def _paths(recipe: Recipe) -> Iterator[ConflictError]:
    for name, table in (("blas", recipe.blas), ("openmp", recipe.openmp)):
        if table is not None and table.source == "path" and not (table.path or "").startswith("/"):
            yield ConflictError(
                "blas-path-missing",
                f'{name}.from = "path" needs the prefix',
                why=(f"seen {name}.path {(table.path or 'nothing')[:80]!a}", "wanted an absolute directory"),
                fix=f"Set {name}.path to the prefix, absolute inside the builder.",
            )


def _wheels(recipe: Recipe) -> Iterator[ConflictError]:
    blas, machine = recipe.blas, recipe.target.machine
    if blas is None:
        return
    if blas.source == "wheels" and not blas_wheels("blas", blas.provider):
        fact = absent_wheels(blas.provider)
        yield ConflictError(
            "blas-not-as-wheels",
            f'the Python index has no {blas.provider} that a build could take: blas.from = "wheels"',
            why=(fact.why, f"source: {fact.source}"),
            fix=fact.fix,
        )
    if blas.provider == "mkl" and machine not in blas_wheels("blas", "mkl")[0].machines:
        yield ConflictError(
            "blas-not-for-machine",
            f"there is no MKL for {machine}",
            why=(
                f"seen target.machine {machine}, wanted {', '.join(blas_wheels('blas', 'mkl')[0].machines)}",
                f"source: {blas_wheels('blas', 'mkl')[0].source}",
            ),
            fix='Take blas.provider = "openblas".',
        )


def _openmp_wheels(recipe: Recipe) -> Iterator[ConflictError]:
    openmp, machine = recipe.openmp, recipe.target.machine
    if openmp is None or openmp.source != "wheels":
        return
    rows = blas_wheels("openmp", openmp.provider)
    if not rows:
        fact = absent_wheels(openmp.provider)
        yield ConflictError(
            "openmp-not-as-wheels",
            f'the Python index has no {openmp.provider}: openmp.from = "wheels"',
            why=(fact.why, f"source: {fact.source}"),
            fix=fact.fix,
        )
    elif machine not in rows[0].machines:
        yield ConflictError(
            "openmp-not-as-wheels",
            f"the Python index has no {openmp.provider} for {machine}",
            why=(f"wanted {', '.join(rows[0].machines)}", f"source: {rows[0].source}"),
            fix='Take openmp.provider = "gomp".',
        )


def _pair(recipe: Recipe) -> Iterator[ConflictError]:
    if recipe.blas is None:
        return
    openmp = openmp_of(recipe)
    row = refused_pair(recipe.blas.provider, recipe.blas.source, openmp)
    if row is not None:
        yield ConflictError(
            "blas-openmp-contradict",
            f"{recipe.blas.provider} from {recipe.blas.source} cannot be built with {openmp}",
            why=(row.why, f"source: {row.source}"),
            fix=row.fix,
        )


def _threading(recipe: Recipe) -> Iterator[ConflictError]:
    """The threading layer follows from the runtime; who names another one means another runtime."""
    fact = openmp_fact(openmp_of(recipe))
    for table, rows in (("env", recipe.build.env), ("cmake", recipe.build.cmake)):
        said = rows.get("MKL_THREADING")
        if said is not None and str(said) != fact.mkl_threading:
            yield ConflictError(
                "mkl-threading-contradicts",
                f"build.{table}.MKL_THREADING is not the layer of openmp.provider {openmp_of(recipe)}",
                why=(f"seen {str(said)[:80]!a}, wanted {fact.mkl_threading}", f"source: {fact.source}"),
                fix=f"Leave MKL_THREADING out of build.{table}: it follows from openmp.provider.",
            )
    asked = _flag(recipe, "USE_OPENMP")
    if recipe.openmp is not None and asked is not None and asked != (fact.use_openmp == "ON"):
        yield ConflictError(
            "openmp-flag-contradicts",
            f"build.flags.USE_OPENMP and openmp.provider {recipe.openmp.provider} do not mean the same",
            why=(f"seen {'ON' if asked else 'OFF'}, wanted {fact.use_openmp}", f"source: {fact.source}"),
            fix="Leave USE_OPENMP out of build.flags: it follows from openmp.provider.",
        )


def _tree(recipe: Recipe) -> Iterator[ConflictError]:
    """What the compiler, or the tree, does not do."""
    compiler = basename(recipe.toolchain.cxx)
    uses_openmp = recipe.openmp is not None or (recipe.blas is not None and recipe.blas.provider == "mkl")
    if uses_openmp and openmp_of(recipe) == "gomp" and compiler.startswith("clang"):
        yield ConflictError(
            "openmp-not-of-compiler",
            f"{compiler} does not compile for libgomp",
            why=(
                "seen openmp.provider gomp, wanted iomp or none",
                "source: cmake/Modules/FindOpenMP.cmake at v2.6.0: clang gets -fopenmp=libomp or =libiomp5",
            ),
            fix='Take openmp.provider = "iomp", or gcc and g++.',
        )
    if recipe.blas is None or recipe.wheel.package != "torch":
        return
    if recipe.blas.provider == "blis" and "svd" in recipe.verify.require:
        yield ConflictError(
            "blas-without-lapack",
            "the tree knows no LAPACK beside BLIS, and the wheel must pass a check that needs one",
            why=(
                "seen svd in verify.require",
                "source: cmake/Modules/FindLAPACK.cmake at v2.6.0 has no branch for BLIS",
            ),
            fix="Remove svd from verify.require, or take another BLAS.",
        )
    if recipe.blas.provider == "generic" and not recipe.build.env.get("GENERIC_BLAS_LIBRARIES"):
        yield ConflictError(
            "blas-library-unnamed",
            "BLAS=Generic takes the library that GENERIC_BLAS_LIBRARIES names, and nothing does",
            why=(
                "seen no GENERIC_BLAS_LIBRARIES in build.env, wanted a library's name such as blas",
                "source: cmake/Dependencies.cmake at v2.6.0, whose own default never counts",
            ),
            fix='Set build.env.GENERIC_BLAS_LIBRARIES = "blas".',
        )
