"""Each part by its name: the guest scripts that complete it and look at it, and the checks that judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from torchbuild.model.lock import Lock
from torchbuild.model.part import LockedPart, PartName
from torchbuild.toolchains.proof import Checks

__all__ = ["KINDS", "Kind", "Look", "Request"]

Request = Callable[[LockedPart, Lock], Mapping[str, Any]]
"""What a guest script is told, as JSON values."""


def _nothing(_part: LockedPart, _lock: Lock) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """One look at a part."""

    script: str
    """Guest script that prints what it sees."""
    told: Request
    """What it is told."""
    checks: Checks
    """What is judged of that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """How one part is made whole and proven."""

    made: Mapping[str, tuple[str, Request]] = field(default_factory=lambda: MappingProxyType({}))
    """By how a piece is laid, where that takes a program: the guest script, and what it is told."""
    complete: str = ""
    """Guest script that adds what the pieces lack, such as unversioned links; empty for none."""
    to_complete: Request = _nothing
    """What it is told."""
    looks: tuple[Look, ...]
    """What proves it, in order."""


KINDS: dict[PartName, Kind] = {}
"""Parts that this version can make and prove."""
