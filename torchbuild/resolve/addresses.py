"""Archives that a recipe names: none that is empty, and no secret in an address that the lock publishes."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from torchbuild.errors import Problem
from torchbuild.model.artifact import file_name
from torchbuild.resolve.problems import shown

__all__ = ["address_problems", "locator_problems"]


def address_problems(where: str, archive: str) -> Iterator[Problem]:
    """Of an archive that may be a path of this machine as well.

    Args:
        where: dotted path of the key.
        archive: what stands there.
    """
    if archive == "":
        yield Problem(path=where, seen=shown(archive), wanted="a locator or a path")
    elif "://" in archive and _holds_credentials(archive):
        wanted = "an address without credentials: it goes into the lock; put them into ~/.netrc"
        yield Problem(path=where, seen="an address with a user or a query", wanted=wanted)


def locator_problems(where: str, archive: str) -> Iterator[Problem]:
    """Of an archive that must be a locator; a file of this machine has one as well.

    Args:
        where: dotted path of the key.
        archive: what stands there.
    """
    if archive == "":
        yield Problem(path=where, seen=shown(archive), wanted="a locator, or no such key")
    elif archive.startswith(("/", ".", "~")) or ":" not in archive:
        wanted = f"a locator: file:{file_name(archive)} is that file beside the recipe"
        yield Problem(path=where, seen=shown(archive), wanted=wanted)
    else:
        yield from address_problems(where, archive)


def _holds_credentials(address: str) -> bool:
    """A user part or a query: both are where tokens stand, and a lock is published."""
    try:
        parts = urlsplit(address)
    except ValueError:  # http://[x: no address at all, which is told where it is fetched
        return False
    return "@" in parts.netloc or bool(parts.query)
