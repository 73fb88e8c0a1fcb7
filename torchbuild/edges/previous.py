"""Files of the runs before: a retry keeps what the failed attempt said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MOST_KEPT", "set_aside"]

MOST_KEPT = 5
"""Earlier files kept beside the one of the last run."""


def set_aside(path: Path, *, most: int = MOST_KEPT) -> None:
    """Free a name: ``compile.log`` becomes ``compile.1.log``, that one ``compile.2.log``, and so on.

    Number 1 is always the one of the run before; the oldest goes. What is no file, or not there, stays.

    Args:
        path: the file of the last run.
        most: how many earlier ones stay.

    Raises:
        HostError: ``not-writable``, ``file-operation-failed``.
    """
    if not path.is_file():
        return
    names = [path, *(path.with_name(f"{path.stem}.{number}{path.suffix}") for number in range(1, most + 1))]
    for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
        with translated(newer):
            if newer.is_file():
                newer.replace(older)
