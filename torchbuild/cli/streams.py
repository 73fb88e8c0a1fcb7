"""The three standard streams, where the caller closed some of them."""

from __future__ import annotations

import os
import sys

__all__ = ["open_missing_streams"]


def open_missing_streams() -> None:
    """Let no file of ours get the number of a stream that the caller closed, and stderr go nowhere.

    What is written to a closed stdout stays an error: a result would be lost. To a closed stderr nobody
    wants to listen.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one.
            os.set_inheritable(os.open(os.devnull, flags), True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  stays open
