"""Where a wheel comes from: an in-toto statement with SLSA provenance (version 1 of both), as JSON.

It holds no time and no host: the same lock, wheel and allowances give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Lock, LockedPatch, LockedSource

__all__ = ["BUILD_TYPE", "Circumstances", "provenance"]

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:torchbuild:build:1"
"""How to read the parameters: `docs/reference/provenance.md`."""
BUILDER = "urn:torchbuild:builder"
TREE_DIGEST = "torchbuild-tree"
"""A digest of a directory: names, modes and contents, in our own order."""
EDITED = "source: people edit in this workspace (--dev); the materials are what it began with"

Descriptor = dict[str, Any]


class Circumstances(Frozen):
    """What no lock says and a reader of the wheel must know."""

    lock_sha256: str
    """Digest of the lock's file, which lies beside the wheel."""
    tool: str
    """Version of torchbuild."""
    is_dev: bool
    """Whether people edit in the workspace that the wheel was made in."""
    allowed: tuple[str, ...]
    """What of the network any run in that workspace was allowed: endpoints, ``open-network``."""


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
    }


def _network(allowed: tuple[str, ...]) -> str:
    if "open-network" in allowed:
        return "open"
    return "endpoints" if allowed else "none"


def _materials(lock: Lock) -> Iterator[Descriptor]:
    """Every byte that entered, by digest; each file once."""
    yield from _trees(lock.source)
    for artifact in lock.artifacts():
        yield {"uri": artifact.locator, "name": artifact.name, "digest": {"sha256": artifact.sha256}}
    for patch in lock.source.patches:
        if not patch.origin.startswith("recipe:"):
            yield _patch(patch)
    if lock.image is not None:
        yield {"uri": lock.image.name, "name": "builder image", "digest": {"sha256": lock.image.id}}


def _trees(source: LockedSource) -> Iterator[Descriptor]:
    if source.kind == "git":
        yield _commit(source.url, ".", source.commit)
    if source.kind == "path":
        yield {"uri": f"file:{source.path}", "name": ".", "digest": {TREE_DIGEST: str(source.tree)}}
    for below in (*source.submodules, *source.late):
        yield _commit(below.url, below.path, below.commit)


def _commit(url: str, path: str, commit: str) -> Descriptor:
    return {"uri": f"git+{url}@{commit}", "name": path, "digest": {"gitCommit": commit}}


def _patch(patch: LockedPatch) -> Descriptor:
    """One out of a series: the archive that holds it is a material too."""
    return {"uri": patch.origin, "name": patch.name, "digest": {"sha256": patch.sha256}}
