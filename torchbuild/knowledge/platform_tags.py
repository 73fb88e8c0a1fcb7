"""What the platform tags of wheels promise, and for which the resolver can resolve."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts

__all__ = [
    "LegacyTag",
    "OldestGlibc",
    "ResolverGlibcs",
    "legacy_glibc",
    "legacy_tag",
    "oldest_glibc",
    "resolver_glibcs",
]


class LegacyTag(Fact):
    """A tag older than PEP 600."""

    tag: str
    """Such as ``manylinux2014``."""
    glibc: str
    """The release that it stands for."""


class OldestGlibc(Fact):
    """How far back installers go."""

    machine: str
    """Processor family."""
    glibc: str
    """The oldest release that they take wheels for."""


class ResolverGlibcs(Fact):
    """What the resolver can resolve for."""

    glibc: tuple[str, ...]
    """Releases, oldest first."""
    machines: tuple[str, ...]
    """Processor families."""


def _legacy() -> tuple[LegacyTag, ...]:
    return facts(LegacyTag, "platform_tags", "legacy_tag")


def legacy_glibc(tag: str) -> str | None:
    """The release of glibc that a tag such as ``manylinux2014`` stands for; None where it is no such tag."""
    return next((row.glibc for row in _legacy() if row.tag == tag), None)


def legacy_tag(glibc: str) -> str | None:
    """The tag that stood for a release of glibc before PEP 600; None where there was none."""
    return next((row.tag for row in _legacy() if row.glibc == glibc), None)


def oldest_glibc(machine: str) -> str:
    """The oldest release of glibc that installers take wheels for on a processor family."""
    rows = facts(OldestGlibc, "platform_tags", "oldest")
    return next(row.glibc for row in rows if row.machine == machine)


def resolver_glibcs(machine: str) -> tuple[str, ...]:
    """The releases of glibc that the resolver knows on a processor family, oldest first."""
    rows = facts(ResolverGlibcs, "platform_tags", "resolver")
    return tuple(glibc for row in rows if machine in row.machines for glibc in row.glibc)
