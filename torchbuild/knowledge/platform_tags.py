"""What the platform tags of wheels promise, and for which the resolver can resolve."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["legacy_glibc", "legacy_tag", "oldest_glibc", "resolver_glibcs"]


@cache
def _table() -> dict[str, list[dict[str, Any]]]:
    text = (files("torchbuild.knowledge") / "data" / "platform_tags.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def legacy_glibc(tag: str) -> str | None:
    """The release of glibc that a tag such as ``manylinux2014`` stands for; None where it is no such tag."""
    return next((str(row["glibc"]) for row in _table()["legacy_tag"] if row["tag"] == tag), None)


def legacy_tag(glibc: str) -> str | None:
    """The tag that stood for a release of glibc before PEP 600; None where there was none."""
    return next((str(row["tag"]) for row in _table()["legacy_tag"] if row["glibc"] == glibc), None)


def oldest_glibc(machine: str) -> str:
    """The oldest release of glibc that installers take wheels for on a processor family."""
    return next(str(row["glibc"]) for row in _table()["oldest"] if row["machine"] == machine)


def resolver_glibcs(machine: str) -> tuple[str, ...]:
    """The releases of glibc that the resolver knows on a processor family, oldest first."""
    rows = (row for row in _table()["resolver"] if machine in row["machines"])
    return tuple(str(glibc) for row in rows for glibc in row["glibc"])
