"""The platform policy: which libraries and C library releases a wheel may take for granted."""

from __future__ import annotations

import re

from torchbuild.knowledge.platform_libraries import node_glibc
from torchbuild.knowledge.platform_tags import legacy_glibc

__all__ = ["glibc_of_node", "glibc_promised", "release"]

_PEP_600 = re.compile(r"manylinux_([0-9]{1,4})_([0-9]{1,4})_\w+")
_DIGITS = re.compile(r"[0-9]{1,9}")


def release(version: str) -> tuple[int, ...] | None:
    """``2.28`` as numbers that compare; None where it is no dotted number."""
    parts = version.split(".")
    if not all(_DIGITS.fullmatch(part) for part in parts):
        return None
    return tuple(int(part) for part in parts)


def glibc_of_node(node: str) -> str | None:
    """The C library release that brought a version node such as ``GLIBC_2.28``; None where unknown."""
    number = node.removeprefix("GLIBC_")
    return number if release(number) is not None else node_glibc(node)


def glibc_promised(platform_tag: str) -> str | None:
    """The oldest C library a platform tag promises to run on; None where it promises none."""
    found = _PEP_600.fullmatch(platform_tag)
    if found:
        return f"{int(found[1])}.{int(found[2])}"
    return legacy_glibc(platform_tag.partition("_")[0])
