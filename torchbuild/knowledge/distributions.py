"""Distributions and images: which C library and which Python each has."""

from __future__ import annotations

import difflib
import re

from torchbuild.knowledge.fact import Fact, facts, table_cache
from torchbuild.knowledge.host_compilers import packages_fact

__all__ = ["Distribution", "distribution", "distributions", "near_distributions"]

_NEAREST = 5
_CUTOFF = 0.5


class Distribution(Fact):
    """One release of a distribution, or an image that wheels are built in."""

    name: str
    """kebab-case, such as ``debian-13``."""
    names: tuple[str, ...]
    """What else people call it."""
    id: str
    """``ID`` of its os-release."""
    release: str
    """``VERSION_ID`` of it, or its beginning."""
    glibc: str
    """Its C library, such as ``2.41``."""
    python: str
    """Its own interpreter, such as ``3.13``; empty for none, or where nobody knows."""
    suite: str
    """What Debian calls it, for ``[image].suite``; empty for all others."""

    @property
    def gcc(self) -> tuple[str, ...]:
        """Major versions of gcc that it has packages of, oldest first; empty where nobody knows."""
        found = packages_fact(self.id, self.release)
        return found.gcc if found else ()


@table_cache
def distributions() -> tuple[Distribution, ...]:
    """All that are known."""
    return facts(Distribution, "distributions", "distribution")


def distribution(name: str) -> Distribution | None:
    """The one of that name, however it is written; None where nobody knows it."""
    wanted = _plain(name)
    return next((row for row in distributions() if wanted in map(_plain, (row.name, *row.names))), None)


def near_distributions(name: str) -> tuple[str, ...]:
    """Names that stand nearest to one that is not known, at most five."""
    known = {_plain(other): row.name for row in distributions() for other in (row.name, *row.names)}
    found = difflib.get_close_matches(_plain(name), known, n=_NEAREST * 2, cutoff=_CUTOFF)
    return tuple(dict.fromkeys(known[item] for item in found))[:_NEAREST]


def _plain(name: str) -> str:
    """Letters and digits only: ``Debian 13`` and ``debian-13`` are one."""
    return re.sub(r"[^a-z0-9.]", "", name.lower())
