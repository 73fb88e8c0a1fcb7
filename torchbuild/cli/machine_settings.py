"""What of this machine a build used, kept beside it, so that a shell in it uses the same."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from torchbuild.edges.atomic import write_text
from torchbuild.model.recipe import Machine

__all__ = ["keep_settings", "kept_settings"]

_NAME = "machine.json"
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
