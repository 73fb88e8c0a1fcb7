"""The host compiler: what nvcc takes, what the tree asks for, what is known to break."""

from __future__ import annotations

from dataclasses import dataclass

from torchbuild.advice import cite
from torchbuild.advice.answer import Cited
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.cuda import CudaRelease
from torchbuild.knowledge.fact import in_range
from torchbuild.knowledge.host_compilers import nvcc_fact, pair_facts, torch_fact

__all__ = ["MAJORS", "HostCompiler", "NoCompiler", "host_compiler"]

MAJORS = tuple(range(16, 5, -1))
"""Major releases of gcc that are tried, newest first; the tables say which of them count."""
_LAST_MINOR = 99


@dataclass(frozen=True, slots=True)
class HostCompiler:
    """A gcc that will do."""

    version: str
    """Its major release, or what the wish says."""
    facts: tuple[Cited, ...]
    """What allows it."""


@dataclass(frozen=True, slots=True)
class NoCompiler:
    """Why none will do."""

    facts: tuple[Cited, ...]
    """The facts that contradict one another, two or more; one alone where a wish is the other."""


def host_compiler(wish: Wish, cuda: CudaRelease | None) -> HostCompiler | NoCompiler | None:
    """The gcc to take; None where nothing is known that would decide."""
    nvcc, torch = nvcc_fact(cuda.version) if cuda else None, torch_fact(wish.torch)
    limits = [item for item in (nvcc and nvcc.gcc, nvcc and nvcc.minimum, torch and torch.gcc) if item]
    facts = (*((cite.nvcc(nvcc),) if nvcc else ()), *((cite.torch_compiler(torch),) if torch else ()))
    release = cuda.version if cuda else ""
    if wish.gcc:
        bad = _broken(wish, release, wish.gcc) if cuda else ()
        return (
            NoCompiler(bad or facts) if bad or not _fits(wish.gcc, limits) else HostCompiler(wish.gcc, facts)
        )
    if not facts:
        return None
    for major in MAJORS:
        if _fits(str(major), limits) and not (cuda and _broken(wish, release, str(major))):
            return HostCompiler(str(major), facts)
    return NoCompiler(facts)


def _fits(gcc: str, limits: list[str]) -> bool:
    """A major alone stands for its newest release: who says gcc 9 can have 9.5."""
    newest = gcc if "." in gcc else f"{gcc}.{_LAST_MINOR}"
    return all(in_range(newest, limit) for limit in limits)


def _broken(wish: Wish, cuda: str, gcc: str) -> tuple[Cited, ...]:
    """Confirmed breakages; a major alone is broken where its newest release is."""
    newest = gcc if "." in gcc else f"{gcc}.{_LAST_MINOR}"
    rows = pair_facts(newest, cuda=cuda, torch=wish.torch, machine=wish.machine)
    return tuple(cite.pair(row) for row in rows if row.checked != "unconfirmed")
