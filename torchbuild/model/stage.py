"""The contract of a stage: what it will do, and what it did."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from torchbuild.model.command import Command
from torchbuild.model.finding import Finding
from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Lock

__all__ = ["StageKey", "StagePlan", "StageResult", "lock_part", "stage_key"]

_PART_DIGITS = 16
_NAMES = ("key", "path", "locator", "name")
"""By which a row of a list is known, in this order."""


class StageKey(Frozen):
    """All that decides a stage's outcome, as one digest, and piece by piece so that a change has a name."""

    digest: str
    """Of the stage's name and of all that follows: 64 hexadecimal digits."""
    parts: dict[str, str]
    """Name of each piece -> the beginning of its digest, or the piece itself where it is short.

    ``revision``; ``source.commit`` and other fields of the lock; ``command 1``; ``stage fetch``.
    """


class StagePlan(Frozen):
    """What a stage will do. Made from the lock alone."""

    stage: str
    """The stage's name."""
    key: StageKey
    """What decides its outcome: its revision and its part of the lock."""
    needs: tuple[str, ...]
    """Stages that must be done before."""
    makes: tuple[str, ...]
    """Paths it leaves behind, with placeholders. Intact means: not to be done again."""
    commands: tuple[Command, ...]
    """Processes it will start, in order."""


class StageResult(Frozen):
    """What a stage did, from what it read back."""

    summary: str
    """One line for a person."""
    findings: tuple[Finding, ...] = ()
    """Every check it made."""
    evidence: tuple[tuple[str, str], ...] = ()
    """Measured facts by name: digests, versions, counts, seconds."""
    stopped: bool = False
    """It ended where the caller asked, before its own end; not to be taken for done."""
    rests_on: tuple[str, ...] = ()
    """Files outside of the build that no lock pins and that decided it, absolute. Another file there, or
    another link on the way, makes the result stale."""


def stage_key(name: str, revision: int, inputs: Any, *before: str) -> StageKey:  # noqa: ANN401  any JSON value
    """What decides a stage's outcome.

    Args:
        name: the stage.
        revision: of its own code.
        inputs: any JSON value; the leaves of a table are parts of the key under their dotted names.
        before: digests of the stages that it builds on.
    """
    text = _text([name, revision, inputs, list(before)])
    parts = {"revision": str(revision), **{path: _short(value) for path, value in _leaves(inputs, "")}}
    return StageKey(digest=hashlib.sha256(text.encode()).hexdigest(), parts=parts)


def _text(value: Any) -> str:  # noqa: ANN401  any JSON value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _short(value: Any) -> str:  # noqa: ANN401  any JSON value
    return hashlib.sha256(_text(value).encode()).hexdigest()[:_PART_DIGITS]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  any JSON value
    """Each value of nested tables with its dotted name; a list of named tables is one more of these."""
    table = value if isinstance(value, dict) else _by_name(value)
    if table is None:
        if value is not None or path:
            yield path or "inputs", value
        return
    for name in sorted(table):
        yield from _leaves(table[name], f"{path}.{name}" if path else str(name))


def _by_name(value: Any) -> dict[str, Any] | None:  # noqa: ANN401  any JSON value
    """A list of tables by what each is called, in order where several have one name; None for others."""
    rows = value if isinstance(value, list) and all(isinstance(row, dict) for row in value) else []
    name = next((name for name in _NAMES if rows and all(isinstance(row.get(name), str) for row in rows)), "")
    if not name:
        return None
    found: dict[str, Any] = {}
    for row in rows:
        found.setdefault(row[name], []).append(_text(row))
    return found


def lock_part(lock: Lock, *fields: str) -> dict[str, Any]:
    """These fields of the lock as JSON values, for a key.

    Raises:
        KeyError: a name that is no field; a key that quietly left something out would call stale work done.
    """
    dumped = lock.model_dump(mode="json", include=set(fields))
    return {name: dumped[name] for name in fields}
