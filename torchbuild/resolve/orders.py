"""What stages tell the ninja shim before the front end starts, and what is left for them to read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from torchbuild.errors import StageError
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.finding import Finding, failures
from torchbuild.model.fingerprint import Fingerprint
from torchbuild.model.lock import Expectation

__all__ = [
    "BUILD_DIR",
    "CACHE",
    "GATE",
    "LAID",
    "LIVE",
    "MARK",
    "ORDER",
    "SAMPLES",
    "STOP",
    "TOOLS",
    "USAGE",
    "build_order",
    "bypassed",
    "cache_forgotten",
    "gate_findings",
    "gate_order",
    "mark_text",
    "printed_document",
    "refuse",
    "tree_begun_anew",
    "tree_changes",
]

_LAST = {"gate-option": 1, "gate-unexpected": 2, "gate-adopted": 2, "gate-notfound": 3}
"""What is told after all others: what was asked for by name comes first."""
_MOST_CHANGES = 6
BUILD_DIR = "{source}/build"
"""CMake's build tree, in every era."""
CACHE = f"{BUILD_DIR}/CMakeCache.txt"
"""What CMake made of the request, and what it never asks the tree for again while it stands there."""
MARK = f"{BUILD_DIR}/.torchbuild-configured"
"""Says that the build tree is the one that was compared. CMake's own files change when it runs again, which
one of the front ends lets it do for compile."""
LAID = "{work}/source.states.json"
"""What the source stage laid in a tree that people edit; what a build makes there is not in it."""
TOOLS = "{shim}/tools.json"
"""What the toolchain rests on: files whose bytes are part of a build tree's fingerprint."""
LIVE = "{shim}/live.json"
"""What runs at this moment, while ninja works; gone when it has ended."""
ORDER = "{shim}/order.json"
"""What the shim is told."""
GATE = "{shim}/gate.json"
"""What the gate saw."""
SAMPLES = "{shim}/samples.jsonl"
"""What was seen while ninja worked, a line a look; it outlives a run that was killed."""
STOP = "{shim}/stop-asked"
"""Where it is made while ninja works, what runs is finished and nothing begins."""
USAGE = "{shim}/compile.json"
"""What ninja used, and how it ended."""


def gate_order(expect: tuple[Expectation, ...], fingerprint: Fingerprint) -> str:
    """Compare, then stop before anything is compiled."""
    return _text({"mode": "gate"} | _compared(expect, fingerprint))


def build_order(
    expect: tuple[Expectation, ...],
    fingerprint: Fingerprint,
    target: str | None,
    statslog: str | None,
    cache: str = "",
) -> str:
    """Compare once more, then compile all, or only `target`.

    Args:
        expect: what is compared.
        fingerprint: what the build tree must be made with.
        target: a CMake target or an object path; None for all.
        statslog: where the compiler cache writes a word for each call, absolute inside the build.
        cache: its program; empty for none.
    """
    order = {"mode": "build", "target": target, "statslog": statslog, "cache": cache}
    return _text(order | _compared(expect, fingerprint))


def _compared(expect: tuple[Expectation, ...], fingerprint: Fingerprint) -> dict[str, Any]:
    return {
        "fingerprint": fingerprint.asked,
        "build_dir": f"{BUILD_ROOT}/source/build",
        "expect": [item.model_dump(mode="json") for item in expect],
    }


def _text(order: dict[str, Any]) -> str:
    return json.dumps(order, indent=1, sort_keys=True) + "\n"


def printed_document(text: str) -> Any:  # noqa: ANN401  any JSON value
    """The last JSON object of a log that begins a line of its own, whatever else was said.

    Raises:
        ValueError: there is none.
    """
    start = max(text.rfind("\n{\n") + 1, 0)
    return json.JSONDecoder().raw_decode(text, start)[0]


def gate_findings(text: str | None) -> tuple[Finding, ...] | None:
    """What the gate saw; None where it was not reached, or left something else than findings."""
    if text is None:
        return None
    try:
        return tuple(Finding.model_validate(item) for item in json.loads(text)["findings"])
    except (ValueError, TypeError, KeyError, RecursionError, ValidationError):
        return None


def mark_text(findings: tuple[Finding, ...]) -> str:
    """What stands in `MARK`: the same, however often the same tree is compared."""
    return f"{len(findings)} values compared\n"


def cache_forgotten(findings: tuple[Finding, ...]) -> Finding:
    """That a kept build tree was refused, and is configured anew before that counts."""
    names = ", ".join(item.what for item in failures(findings)[:3])
    return Finding(
        reference="cache-forgotten",
        outcome="warned",
        what=f"the kept build tree was refused ({names}): CMake's cache is forgotten and it configures anew",
    )


def tree_changes(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """What the build tree was made with and is not made with any more, one line each."""
    return tuple(
        f"{item.what}: was {item.wanted}, now {item.seen}"
        for item in failures(findings)
        if item.reference == "tree-fingerprint"
    )


def tree_begun_anew(changes: tuple[str, ...]) -> Finding:
    """That what a build tree held is gone, and why."""
    more = f" and {len(changes) - _MOST_CHANGES} more" if len(changes) > _MOST_CHANGES else ""
    return Finding(
        reference="tree-begun-anew",
        outcome="warned",
        what="the build tree was made with something else and is begun anew: "
        + "; ".join(changes[:_MOST_CHANGES])
        + more,
    )


def refuse(findings: tuple[Finding, ...], log: str) -> None:
    """End the build where one of them failed.

    Raises:
        StageError: ``gate-refused``, with all of them.
    """
    wrong = tuple(sorted(failures(findings), key=lambda item: _LAST.get(item.reference, 0)))
    if not wrong:
        return
    raise StageError(
        "gate-refused",
        f"{len(wrong)} of {len(findings)} values are not what was asked for; nothing was compiled",
        why=tuple(f"[{item.reference}] {item.what}: wanted {item.wanted}, got {item.seen}" for item in wrong),
        fix=_remedy(wrong),
        link=log,
    )


def _remedy(wrong: tuple[Finding, ...]) -> str:
    """What to do, by what kind of difference it is."""
    kinds = {item.reference for item in wrong}
    if kinds == {"gate-unexpected"}:
        return "Look at each; name it in build.flags, or take it over: torchbuild lock --adopt RECIPE"
    if kinds <= {"gate-unexpected", "gate-option", "gate-adopted"}:
        return "Look at each; say in build.flags what it shall be, on or off."
    return "Look at the configure log for the first of these names; correct the recipe or the builder."


def bypassed(log: Path) -> StageError:
    """The error for a front end that ended well without ever meeting the gate."""
    return StageError(
        "gate-bypassed",
        "the front end ended without a build call in its own build tree: nothing was compared",
        why=("seen exit code 0 and no answer of the gate", "wanted one call of ninja in the tree's build/"),
        fix="Read the log for the generator and the build directory that the front end took; patch the tree.",
        link=str(log),
    )
