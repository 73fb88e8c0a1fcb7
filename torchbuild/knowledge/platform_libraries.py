"""Which libraries every Linux machine has, and which C library brought a node without a number."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts, table_cache

__all__ = ["GlibcNode", "PlatformLibrary", "node_glibc", "platform_libraries"]


class PlatformLibrary(Fact):
    """A library that no wheel needs to declare."""

    soname: str
    """As a wheel's libraries name it."""
    machines: tuple[str, ...]
    """Processor families that have it."""
    provider: str
    """What it is a part of."""


class GlibcNode(Fact):
    """A version node that carries no number."""

    node: str
    """Such as ``GLIBC_ABI_DT_RELR``."""
    glibc: str
    """The release that brought it."""


@table_cache
def platform_libraries(machine: str) -> frozenset[str]:
    """Sonames that every machine of this kind has, and that no wheel needs to declare."""
    rows = facts(PlatformLibrary, "platform_libraries", "library")
    return frozenset(row.soname for row in rows if machine in row.machines)


def node_glibc(node: str) -> str | None:
    """The release of the C library that brought a node; None where nobody knows."""
    rows = facts(GlibcNode, "platform_libraries", "glibc_node")
    return next((row.glibc for row in rows if row.node == node), None)
