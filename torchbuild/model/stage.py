"""The contract of a stage: what it will do, and what it did."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Protocol

from torchbuild.model.command import Command
from torchbuild.model.finding import Finding
from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Lock

__all__ = ["StageModule", "StagePlan", "StageResult", "lock_part", "stage_key"]


class StagePlan(Frozen):
    """What a stage will do. Made from the lock alone."""

    stage: str
    """The stage's name."""
    key: str
    """Digest of all that decides its outcome: its revision, its part of the lock, the stages before."""
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


class StageModule(Protocol):
    """The shape of each module in ``torchbuild.stages``, less the types of its own."""

    NAME: str
    REVISION: int


def stage_key(name: str, revision: int, lock_part: Any, *before: str) -> str:  # noqa: ANN401  any JSON value
    """Digest of what decides a stage's outcome."""
    text = json.dumps([name, revision, lock_part, list(before)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def lock_part(lock: Lock, *fields: str) -> dict[str, Any]:
    """These fields of the lock as JSON values, for a key.

    Raises:
        KeyError: a name that is no field; a key that quietly left something out would call stale work done.
    """
    dumped = lock.model_dump(mode="json", include=set(fields))
    return {name: dumped[name] for name in fields}
