"""What a source may say beyond types: no key that its kind does not act on, no secret in its address."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from torchbuild.errors import Problem
from torchbuild.model.recipe import Source
from torchbuild.resolve.problems import shown

__all__ = ["source_problems"]


def source_problems(where: str, source: Source) -> Iterator[Problem]:
    """Each key that would be ignored, and an address of a repository that may carry a token.

    Args:
        where: dotted path of the table.
        source: what stands there.
    """
    given = source.model_fields_set
    if "strip" in given and source.archive is None:
        wanted = "no strip without archive: a repository and a directory are taken as they are"
        yield Problem(path=f"{where}.strip", seen=shown(source.strip), wanted=wanted)
    if "submodules" in given and source.submodules == "recursive" and source.git is None:
        wanted = 'only with git, which fetches them; "system" where a tree is built without its submodules'
        yield Problem(path=f"{where}.submodules", seen=shown(source.submodules), wanted=wanted)
    if source.git is not None and _has_query(source.git):
        wanted = "an address without a query: it goes into the lock; git asks a credential helper for tokens"
        yield Problem(path=f"{where}.git", seen="an address with a query or a fragment", wanted=wanted)


def _has_query(address: str) -> bool:
    """Whether anything follows the path: that is where tokens stand, and git cannot use it."""
    try:
        parts = urlsplit(address)
    except ValueError:  # no address at all, which is told where it is fetched
        return False
    return parts.scheme in ("http", "https") and bool(parts.query or parts.fragment)
