"""How much memory each compiler took, kept from build to build and told to the next one.

What is learned is known by an output's name in its build tree, which is the same in every workspace, and by
what compiles it. It decides when a compiler starts, and nothing of what it makes.
"""

from __future__ import annotations

import json
from typing import Any

from torchbuild.knowledge.heavy_edges import heavy_edges, other_edges
from torchbuild.model.lock import Lock

__all__ = ["EXPECTED", "KEPT", "SEEN", "compilers_of", "expected", "merged"]

EXPECTED = "{shim}/expected-peaks.json"
"""What the supervisor of a build is told."""
SEEN = "{shim}/peaks.jsonl"
"""What it saw."""
KEPT = "learned/compiler-peaks.json"
"""Where that is kept, in the store."""
_MOST_COMPILERS = 12
_GB = 10**9


def compilers_of(lock: Lock) -> str:
    """What decides how much memory a compile takes, beside the source."""
    cuda = next((f"CUDA {part.version}" for part in lock.parts if part.name == "cuda"), "")
    words = (
        lock.wheel.package,
        lock.compiler,
        lock.environ.get("CMAKE_BUILD_TYPE", ""),
        cuda,
        *lock.gpu_archs,
    )
    return "; ".join(word for word in words if word)


def expected(compilers: str, kept: str | None) -> str:
    """For the supervisor: what was learned with these compilers, and facts for all else."""
    priors = [
        {"pattern": row.pattern, "program": row.program, "bytes": int(row.gb * _GB)}
        for row in heavy_edges()[:-1]
    ]
    told = {
        "learned": _known(kept).get(compilers, {}),
        "priors": priors,
        "other": int(other_edges().gb * _GB),
    }
    return json.dumps(told, sort_keys=True) + "\n"


def merged(compilers: str, kept: str | None, seen: str | None) -> str | None:
    """What is kept from now on; None where nothing was seen. The compilers used last come last."""
    new = dict(filter(None, (_line(line) for line in (seen or "").splitlines())))
    if not new:
        return None
    known = _known(kept)
    known[compilers] = known.pop(compilers, {}) | new
    recent = dict(list(known.items())[-_MOST_COMPILERS:])
    return json.dumps(recent, indent=0) + "\n"


def _line(text: str) -> tuple[str, int] | None:
    """A line that a killed build has left half written is none."""
    try:
        told = json.loads(text)
        return str(told["edge"]), int(told["bytes"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _known(text: str | None) -> dict[str, dict[str, int]]:
    """Nothing where the file is not legible: what was learned can be learned again."""
    try:
        known = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    tables: dict[str, Any] = known if isinstance(known, dict) else {}
    return {
        name: {edge: peak for edge, peak in table.items() if type(peak) is int}
        for name, table in tables.items()
        if isinstance(table, dict)
    }
