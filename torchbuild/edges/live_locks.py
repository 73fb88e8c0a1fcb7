"""Which locks are live for a cache that several builds folders share: each workspace leaves its name there.

Layout: ``LIVE/<digest of the workspace's path>.json`` with that path, the machine, and what its lock names.
The entry of a workspace that is gone counts no more. An entry of a machine whose disks this one does not see
counts for a month after its last build.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchbuild.edges.atomic import remove_tree, translated, write_text
from torchbuild.edges.git_cache import bare_of
from torchbuild.errors import FetchError, HostError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Named", "Registered", "forget", "names_of", "register", "registered"]

_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_REPOSITORY = re.compile(rb"(?<![0-9a-f])[0-9a-f]{20}\.git")
_QUOTED = re.compile(rb"\"([^\"\n]*)\"|'([^'\n]*)'")
_DAY_S = 86400.0
_UNSEEN_S = 30 * _DAY_S
"""How long the word of a machine counts whose workspaces cannot be looked at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """What locks name: it stays."""

    digests: frozenset[str] = frozenset()
    """Of stored files, parts of downloads and images."""
    repositories: frozenset[str] = frozenset()
    """Names of bare repositories in the cache."""

    def __or__(self, other: Named) -> Named:
        """What either names."""
        return Named(
            digests=self.digests | other.digests, repositories=self.repositories | other.repositories
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """One entry of the cache."""

    entry: Path
    """Its file."""
    workspace: Path | None
    """The workspace; None where the entry cannot be read: then it counts."""
    is_gone: bool
    """Whether nobody can need it any more."""
    is_seen: bool
    """Whether the workspace can be looked at from here."""
    is_recent: bool
    """Whether a build began there in the last day."""
    named: Named
    """What its lock names."""


def names_of(content: bytes) -> Named:
    """What a lock names, taken for what it says and not for what this version understands.

    Each digest in its text counts, and each text in quotes that is the address of a repository.
    """
    return Named(
        digests=frozenset(found.decode() for found in _DIGEST.findall(content)),
        repositories=frozenset(_repositories(_QUOTED.findall(content))),
    )


def _repositories(quoted: Iterable[tuple[bytes, bytes]]) -> Iterable[str]:
    for text in {(double or single).decode(errors="replace") for double, single in quoted}:
        with contextlib.suppress(FetchError):  # no address at all
            yield bare_of(Path(), text).name


def register(live: Path, workspace: Path, lock: str) -> None:
    """Say that a workspace builds from a lock. A cache that may only be read is left as it is.

    Only digests are noted: who shares the cache does not see what the lock says.

    Args:
        live: the directory of all entries, in the cache.
        workspace: its directory, absolute.
        lock: the lock's text.
    """
    named = names_of(lock.encode())
    entry = {
        "path": str(workspace),
        "machine": socket.gethostname(),
        "digests": sorted(named.digests),
        "repositories": sorted(named.repositories),
    }
    name = hashlib.sha256(f"{socket.gethostname()}\0{workspace}".encode()).hexdigest()
    with contextlib.suppress(HostError):
        write_text(live / f"{name}.json", json.dumps(entry) + "\n")


def registered(live: Path) -> tuple[Registered, ...]:
    """Every entry of the cache, by the names of their files.

    Raises:
        HostError: ``not-writable`` (no right to look), ``file-operation-failed``.
    """
    if not live.is_dir():
        return ()
    found = []
    with translated(live):
        for path in sorted(live.glob("*.json")):
            with contextlib.suppress(FileNotFoundError):  # another collection has just removed it
                found.append(_entry(path, path.read_bytes(), time.time() - path.stat().st_mtime))
    return tuple(found)


def forget(entries: Iterable[Registered]) -> None:
    """Remove the entries of workspaces that are gone, as far as we may."""
    for item in entries:
        if item.is_gone:
            with contextlib.suppress(HostError):
                remove_tree(item.entry)


def _entry(path: Path, content: bytes, age_s: float) -> Registered:
    """What it says counts even where it is no JSON any more: a damaged entry removes nothing."""
    noted = _noted(content)
    workspace = Path(noted["path"]) if isinstance(noted.get("path"), str) else None
    is_here = noted.get("machine") == socket.gethostname()
    is_missing = workspace is not None and _is_missing(workspace)
    return Registered(
        entry=path,
        workspace=workspace,
        is_gone=is_missing and (is_here or age_s > _UNSEEN_S),
        is_seen=not is_missing,
        is_recent=age_s < _DAY_S,
        named=Named(
            digests=frozenset(found.decode() for found in _DIGEST.findall(content)),
            repositories=frozenset(found.decode() for found in _REPOSITORY.findall(content)),
        ),
    )


def _noted(content: bytes) -> dict[str, Any]:
    try:
        noted = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _is_missing(workspace: Path) -> bool:
    """Not there, for certain: what we may not look at may be there."""
    try:
        os.lstat(workspace)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
