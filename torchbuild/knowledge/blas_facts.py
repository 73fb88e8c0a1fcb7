"""What an OpenMP runtime is called, which BLAS goes with it, and which wheels hold either."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts, facts_file, table_cache
from torchbuild.model.frozen import frozen_value

__all__ = [
    "AbsentFact",
    "BlasWheel",
    "OpenmpFact",
    "RefusedPair",
    "absent_wheels",
    "blas_wheels",
    "openmp_fact",
    "openmp_names",
    "refused_pair",
]


class OpenmpFact(Fact):
    """One OpenMP runtime, or none."""

    library: str
    """How its file's name begins; empty for none."""
    names: tuple[str, ...]
    """What a linker is told, best first."""
    use_openmp: str
    """``USE_OPENMP`` of the trees."""
    mkl_threading: str
    """``MKL_THREADING`` of the trees."""
    mkl_thread: str
    """The layer of MKL that goes with it."""
    mkl_runtime: str
    """What the trees' search for MKL calls it; empty for none."""
    within: dict[str, str]
    """Regular expressions of cache entries, and what each that matches must hold; one must be there."""
    settings: dict[str, str]
    """Build settings that ``config.show()`` prints."""


class RefusedPair(Fact):
    """A BLAS and a runtime that cannot go together."""

    blas: str
    """The BLAS."""
    origin: str
    """As in ``blas.from``; empty for any."""
    openmp: str
    """The runtime."""
    why: str
    """Why not."""
    fix: str
    """What to do."""


class BlasWheel(Fact):
    """A distribution that holds a part, or a piece of one."""

    part: str
    """``blas`` or ``openmp``."""
    provider: str
    """The BLAS or the runtime that it holds."""
    linkage: str
    """``shared`` or ``static``, where it is for one of them alone."""
    distribution: str
    """Its name."""
    folder: str
    """Below its data, and below the prefix."""
    together: bool
    """Whether its version is that of the part."""
    machines: tuple[str, ...]
    """Processor families that it is for."""


class AbsentFact(Fact):
    """What cannot be had as wheels."""

    provider: str
    """The BLAS or the runtime."""
    why: str
    """Why not."""
    fix: str
    """What to do."""


def openmp_names() -> tuple[str, ...]:
    """The runtimes that have a row."""
    return tuple(facts_file("openmp")["runtime"])


@table_cache
def openmp_fact(provider: str) -> OpenmpFact:
    """The row of a runtime."""
    return OpenmpFact.model_validate(frozen_value(facts_file("openmp")["runtime"][provider]))


@table_cache
def _refused() -> tuple[RefusedPair, ...]:
    rows = facts_file("openmp")["refused"]
    return tuple(RefusedPair.model_validate(frozen_value(row)) for row in rows)


def refused_pair(blas: str, origin: str, openmp: str) -> RefusedPair | None:
    """Why a BLAS of this origin cannot be built with a runtime; None where it can."""
    rows = (row for row in _refused() if (row.blas, row.openmp) == (blas, openmp))
    return next((row for row in rows if row.origin in ("", origin)), None)


@table_cache
def blas_wheels(part: str, provider: str) -> tuple[BlasWheel, ...]:
    """The distributions that hold a part; none where it is not to be had as wheels."""
    rows = facts(BlasWheel, "blas_wheels", "wheel")
    return tuple(row for row in rows if (row.part, row.provider) == (part, provider))


@table_cache
def absent_wheels(provider: str) -> AbsentFact:
    """Why there are no wheels of it."""
    rows = facts(AbsentFact, "blas_wheels", "absent")
    return next(row for row in rows if row.provider == provider)
