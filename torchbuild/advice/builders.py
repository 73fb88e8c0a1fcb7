"""The builder: a distribution old enough for the target, with a compiler that toolkit and tree take."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from torchbuild.advice.compilers import HostCompiler, host_compiler
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.cuda import CudaRelease
from torchbuild.knowledge.distributions import Distribution, distributions
from torchbuild.knowledge.host_compilers import glibc_facts

__all__ = ["Builder", "builder_for"]


@dataclass(frozen=True, slots=True)
class Builder:
    """A distribution, and one of its compilers."""

    distribution: Distribution
    """Where the build runs."""
    compiler: HostCompiler
    """Its gcc, by major release."""


def builder_for(wish: Wish, cuda: CudaRelease | None) -> Builder | None:
    """The newest distribution that fits; None where none does.

    One that an image can be made from goes before any other; of the others its author brings an image.
    """
    fitting = [row for row in distributions() if _is_old_enough(row, wish, cuda)]
    for row in sorted(fitting, key=lambda item: (bool(item.suite), Version(item.glibc)), reverse=True):
        for gcc in reversed(row.gcc):
            compiler = _as_asked(gcc, wish, cuda)
            if compiler is not None:
                return Builder(row, HostCompiler(gcc, compiler.facts))
    return None


def _as_asked(gcc: str, wish: Wish, cuda: CudaRelease | None) -> HostCompiler | None:
    """A distribution's compiler, where toolkit, tree and wish take it."""
    if wish.gcc and wish.gcc.split(".")[0] != gcc:
        return None
    found = host_compiler(wish if wish.gcc else wish.model_copy(update={"gcc": gcc}), cuda)
    return found if isinstance(found, HostCompiler) else None


def _is_old_enough(row: Distribution, wish: Wish, cuda: CudaRelease | None) -> bool:
    if not row.glibc or (wish.glibc and Version(row.glibc) > Version(wish.glibc)):
        return False
    return cuda is None or not glibc_facts(cuda.version, row.glibc)
