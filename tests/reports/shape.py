"""One public report of a failed build that this tool makes impossible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Entry"]


@dataclass(frozen=True)
class Entry:
    """A trap, set up as the report describes it."""

    run: Callable[[Path], None]
    """Sets the trap in an empty folder and raises AssertionError where it is not noticed."""
    prevented_by: tuple[str, ...]
    """Names of the preventions without which it would not be noticed."""
    promise: str
    """What a user is promised, in one sentence."""
