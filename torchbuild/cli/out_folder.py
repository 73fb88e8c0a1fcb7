"""Where a wheel will be laid: looked at before an hour is spent on it."""

from __future__ import annotations

import os
from pathlib import Path

from torchbuild.errors import UsageError

__all__ = ["check_out"]


def check_out(out: Path) -> None:
    """Refuse a place where no wheel could be laid; nothing is made yet.

    Args:
        out: the folder, which need not be there.

    Raises:
        UsageError: ``out-not-writable``.
    """
    place = out.absolute()
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise _refusal(out, f"seen: {place}, which is no folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise _refusal(out, f"seen: no right to write in {place}")


def _refusal(out: Path, seen: str) -> UsageError:
    return UsageError(
        "out-not-writable",
        f"--out {out}: no wheel can be laid there",
        why=(seen, "wanted: a folder that this user may write to, or one that can be made"),
        fix="Name a folder of yours with --out FOLDER.",
    )
