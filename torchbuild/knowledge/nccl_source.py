"""What NCCL's makefile compiles besides the list of architectures that it is handed."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts, in_range, table_cache

__all__ = ["OwnList", "own_lists"]


class OwnList(Fact):
    """A list of its own."""

    cuda: str
    """Releases of the toolkit with which it has it, a range."""
    variable: str
    """Its name in the makefile."""
    sass: tuple[str, ...]
    """Machine code that it adds; empty where the list is empty, and then another one may be handed over."""


@table_cache
def _rows() -> tuple[OwnList, ...]:
    return facts(OwnList, "nccl_source", "own")


def own_lists(cuda: str) -> tuple[OwnList, ...]:
    """Those with a release of the toolkit."""
    return tuple(row for row in _rows() if in_range(cuda, row.cuda))
