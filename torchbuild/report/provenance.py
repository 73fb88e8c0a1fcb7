"""Where a wheel comes from: an in-toto statement with SLSA provenance (version 1 of both), as JSON.

It holds no time and no host: the same lock, wheel, tool and circumstances give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Lock, LockedSource

__all__ = ["BUILD_TYPE", "UNKNOWN", "Circumstances", "provenance"]

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:torchbuild:build:1"
"""How to read the parameters: `docs/reference/provenance.md`."""
BUILDER = "urn:torchbuild:builder"
UNKNOWN = "unknown"
"""Stands among what was allowed where the record of it is lost."""
TREE_DIGEST = "torchbuild-tree"
"""A digest of a directory: names, modes and contents, in our own order."""
EDITED = "source: people edit in this workspace (--dev); the materials are what it began with"

Descriptor = dict[str, Any]
_SCP = re.compile(r"([^/:]+):/?(.*)", re.DOTALL)
"""git's short form of an ssh address."""


class Circumstances(Frozen):
    """What no lock says and a reader of the wheel must know."""

    lock_sha256: str
    """Digest of the lock's file, which lies beside the wheel."""
    tool: str
    """Version of torchbuild."""
    is_dev: bool
    """Whether people edit in the workspace that the wheel was made in."""
    allowed: tuple[str, ...]
    """What of the network any run in that workspace was allowed: endpoints, ``open-network``, `UNKNOWN`."""
    despite: tuple[str, ...] = ()
    """What any run in that workspace went on in spite of: preflights by reference, `UNKNOWN`."""


def provenance(lock: Lock, wheel: str, sha256: str, around: Circumstances) -> str:
    """The statement about one wheel.

    Args:
        lock: every input.
        wheel: its file name.
        sha256: its digest.
        around: what else a reader must know.
    """
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": wheel, "digest": {"sha256": sha256}}],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "recipe": {"name": lock.name, "digest": {"sha256": lock.recipe}},
                    "dev": around.is_dev,
                    "allowed": list(around.allowed),
                    "despite": list(around.despite),
                },
                "internalParameters": _parameters(lock, around),
                "resolvedDependencies": list(_materials(lock)),
            },
            "runDetails": {"builder": {"id": BUILDER, "version": {"torchbuild": around.tool}}},
        },
    }
    return json.dumps(statement, indent=2, ensure_ascii=False) + "\n"


def _parameters(lock: Lock, around: Circumstances) -> dict[str, Any]:
    unpinned = [*lock.unpinned, *([EDITED] if around.is_dev else [])]
    return {
        "lock": {"digest": {"sha256": around.lock_sha256}},
        "machine": lock.machine,
        "glibc": lock.glibc,
        "epoch": lock.epoch,
        "python": lock.python.version,
        "compiler": lock.compiler,
        "network": _network(around.allowed),
        "unpinned": unpinned,
        **({"facts": list(lock.facts)} if lock.facts else {}),
    }


def _network(allowed: tuple[str, ...]) -> str:
    if "open-network" in allowed:
        return "open"
    if UNKNOWN in allowed:
        return UNKNOWN
    return "endpoints" if allowed else "none"


def _materials(lock: Lock) -> Iterator[Descriptor]:
    """Every byte that entered, by digest; each file once."""
    yield from _trees(lock.source)
    files = {
        patch.sha256: _file(patch.origin, patch.name, patch.sha256)
        for patch in lock.source.patches
        if not patch.origin.startswith("recipe:")
    }
    files |= {item.sha256: _file(item.locator, item.name, item.sha256) for item in lock.artifacts()}
    yield from files.values()
    if lock.image is not None:
        # an engine's name for it is no address, and nobody can get it from there
        yield {"name": f"builder image {lock.image.name}", "digest": {"sha256": lock.image.id}}


def _trees(source: LockedSource) -> Iterator[Descriptor]:
    if source.kind == "git":
        yield _commit(source.url, ".", source.commit)
    if source.kind == "path":
        yield {"uri": _uri(f"file:{source.path}"), "name": ".", "digest": {TREE_DIGEST: str(source.tree)}}
    for below in (*source.submodules, *source.late):
        yield _commit(below.url, below.path, below.commit)


def _commit(url: str, path: str, commit: str) -> Descriptor:
    short = f"file://{url}" if url.startswith("/") else _SCP.sub(r"ssh://\1/\2", url)
    address = url if "://" in url else short
    return {"uri": _uri(f"git+{address}@{commit}"), "name": path, "digest": {"gitCommit": commit}}


def _file(uri: str, name: str, sha256: str) -> Descriptor:
    return {"uri": _uri(uri), "name": name, "digest": {"sha256": sha256}}


def _uri(text: str) -> str:
    """With what no URI may hold written as one holds it; a percent sign stands for itself already."""
    return quote(text, safe=":/?#[]@!$&'()*+,;=%~")
