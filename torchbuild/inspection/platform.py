"""The platform policy: which libraries and C library releases a wheel may take for granted."""

from __future__ import annotations

import re
from functools import cache

from torchbuild.knowledge.fact import facts_file
from torchbuild.knowledge.platform_tags import legacy_glibc

__all__ = ["glibc_of_node", "glibc_promised", "platform_libraries", "release"]

_PEP_600 = re.compile(r"manylinux_([0-9]{1,4})_([0-9]{1,4})_\w+")
_DIGITS = re.compile(r"[0-9]{1,9}")


@cache
def platform_libraries(machine: str) -> frozenset[str]:
    """Sonames that every machine of this kind has, and that no wheel needs to declare."""
    rows = facts_file("platform_libraries")["library"]
    return frozenset(
        str(row["soname"]) for row in rows if isinstance(row["machines"], list) and machine in row["machines"]
    )


def release(version: str) -> tuple[int, ...] | None:
    """``2.28`` as numbers that compare; None where it is no dotted number."""
    parts = version.split(".")
    if not all(_DIGITS.fullmatch(part) for part in parts):
        return None
    return tuple(int(part) for part in parts)


def glibc_of_node(node: str) -> str | None:
    """The C library release that brought a version node such as ``GLIBC_2.28``; None where unknown."""
    number = node.removeprefix("GLIBC_")
    if release(number) is not None:
        return number
    rows = facts_file("platform_libraries")["glibc_node"]
    return next((str(row["glibc"]) for row in rows if row["node"] == node), None)


def glibc_promised(platform_tag: str) -> str | None:
    """The oldest C library a platform tag promises to run on; None where it promises none."""
    found = _PEP_600.fullmatch(platform_tag)
    if found:
        return f"{int(found[1])}.{int(found[2])}"
    return legacy_glibc(platform_tag.partition("_")[0])
