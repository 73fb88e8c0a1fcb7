"""What the platform tags of wheels promise, and for which the resolver can resolve."""

from __future__ import annotations

from typing import Any

from torchbuild.knowledge.fact import facts_file

__all__ = ["legacy_glibc", "legacy_tag", "oldest_glibc", "resolver_glibcs"]


def _rows(table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = facts_file("platform_tags")[table]
    return rows


def legacy_glibc(tag: str) -> str | None:
    """The release of glibc that a tag such as ``manylinux2014`` stands for; None where it is no such tag."""
    return next((str(row["glibc"]) for row in _rows("legacy_tag") if row["tag"] == tag), None)


def legacy_tag(glibc: str) -> str | None:
    """The tag that stood for a release of glibc before PEP 600; None where there was none."""
    return next((str(row["tag"]) for row in _rows("legacy_tag") if row["glibc"] == glibc), None)


def oldest_glibc(machine: str) -> str:
    """The oldest release of glibc that installers take wheels for on a processor family."""
    return next(str(row["glibc"]) for row in _rows("oldest") if row["machine"] == machine)


def resolver_glibcs(machine: str) -> tuple[str, ...]:
    """The releases of glibc that the resolver knows on a processor family, oldest first."""
    rows = (row for row in _rows("resolver") if machine in row["machines"])
    return tuple(str(glibc) for row in rows for glibc in row["glibc"])
