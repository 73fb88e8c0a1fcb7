"""That a build ended before its end because somebody asked for it: what it says, and how it goes on."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal

from torchbuild.errors import Interrupted, OutOfTime

__all__ = ["Reason", "Unasked", "stopped"]

Reason = Literal["", "interrupt", "time"]
"""Nobody asked; somebody did; the time that was given is over."""


class Unasked:
    """Nobody asks a build to stop; satisfies `torchbuild.context.Stopping`."""

    reason: Reason = ""

    def gently(self, mark: Path) -> AbstractContextManager[None]:  # noqa: ARG002  nobody will make it
        """Nothing is made."""
        return nullcontext()


def stopped(reason: Reason, where: str = "") -> Interrupted:
    """The error for a build that ended as asked.

    Args:
        reason: who asked.
        where: how far it came, such as ``after 3 of 40 edges of compile``.
    """
    fix = "Run the same command again: what is done is not done again."
    behind = f" {where}" if where else ""
    if reason == "time":
        what = f"stopped{behind}: the time that --stop-after gives is over"
        return OutOfTime("out-of-time", what, fix=fix)
    return Interrupted("interrupted", f"stopped as you asked{behind}", fix=fix)
