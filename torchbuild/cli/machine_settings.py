"""What of this machine a build used, kept beside it: for a shell in it, and for the wheel's provenance."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from torchbuild.edges.atomic import write_text
from torchbuild.model.recipe import Machine
from torchbuild.report.provenance import UNKNOWN

__all__ = ["keep_allowed", "keep_despite", "keep_settings", "kept_settings"]

_NAME = "machine.json"
_ALLOWED = "allowed.json"
_DESPITE = "despite.json"
_KEPT = {"executor", "engine", "jobs", "memory_gib"}
"""What shapes an executor. Indexes and mirrors stay out: they may hold credentials."""


def keep_settings(workspace: Path, machine: Machine) -> None:
    """Write down what the run in this workspace uses.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    write_text(workspace / _NAME, machine.model_dump_json(include=_KEPT, exclude_none=True) + "\n")


def kept_settings(workspace: Path) -> Machine:
    """What the last run in this workspace used; the defaults where none wrote it down legibly."""
    try:
        return Machine.model_validate_json((workspace / _NAME).read_bytes())
    except (OSError, ValidationError):
        return Machine()


def keep_allowed(workspace: Path, now: tuple[str, ...], *, is_fresh: bool) -> tuple[str, ...]:
    """What of the network this run and every earlier one in this workspace was allowed, sorted.

    A stage that an earlier run did is not done again, and neither is an object that it compiled: what they
    were allowed belongs to the wheel, whoever goes on. Where nobody can tell any more, that is ``unknown``.

    Args:
        workspace: its directory.
        now: what this run is allowed.
        is_fresh: whether no run was there before: only then no record means that nothing was allowed.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    return _kept(workspace / _ALLOWED, now, is_fresh=is_fresh)


def keep_despite(workspace: Path, now: tuple[str, ...], *, is_fresh: bool) -> tuple[str, ...]:
    """What this run and every earlier one in this workspace went on in spite of; as `keep_allowed`.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    return _kept(workspace / _DESPITE, now, is_fresh=is_fresh)


def _kept(record: Path, now: tuple[str, ...], *, is_fresh: bool) -> tuple[str, ...]:
    before = () if is_fresh else _before(record)
    every = tuple(sorted({*before, *now}))
    write_text(record, TypeAdapter(tuple[str, ...]).dump_json(every).decode() + "\n")
    return every


def _before(record: Path) -> tuple[str, ...]:
    try:
        return TypeAdapter(tuple[str, ...]).validate_json(record.read_bytes())
    except (OSError, ValidationError):
        return (UNKNOWN,)
