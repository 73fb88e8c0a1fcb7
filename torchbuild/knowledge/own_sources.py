"""What this program itself is, room by room: a newer shim or a newer check makes older results stale.

A table of facts that a check weighs by counts with the user's rows in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable

from torchbuild.knowledge.fact import overlay, table_cache

__all__ = ["sources_digest"]

_TABLES = "knowledge/data/"


@table_cache
def sources_digest(*places: str) -> str:
    """Digest of the sources below these places, by name and content, wherever the package is installed.

    Args:
        places: folders of the package, whose ``.py`` files count, or single files of any kind; with ``/``
            between names and relative to the package.

    Raises:
        ValueError: a place with nothing in it; a digest of nothing would call every result fresh.
    """
    whole = hashlib.sha256()
    for place in sorted(places):
        found = sorted(_sources(files("torchbuild").joinpath(*place.split("/")), place))
        if not found:
            raise ValueError(f"no sources in {place}")
        for name, content in found:
            for part in (name.encode(), content):
                whole.update(b"%d:" % len(part) + part)
    return whole.hexdigest()


def _sources(entry: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    if entry.is_file():
        yield name, entry.read_bytes()
        laid = overlay().laid(name.removeprefix(_TABLES).removesuffix(".toml"))
        if laid is not None and name.startswith(_TABLES):
            yield f"{name} with the user's rows", laid.sha256.encode()
    elif entry.is_dir():
        for inner in entry.iterdir():
            if inner.is_dir() or inner.name.endswith(".py"):
                yield from _sources(inner, f"{name}/{inner.name}")
