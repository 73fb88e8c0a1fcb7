"""What ends a run from outside ends it the way Ctrl-C does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ended_as_interrupted"]


@contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """SIGTERM, as a CI system or a scheduler sends it, and SIGHUP, as a terminal that closes does, end a run
    the way Ctrl-C does: with its report. A signal that the caller ignores, as nohup does, stays ignored.
    """

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    ours = [number for number, handler in before.items() if handler != signal.SIG_IGN]
    try:
        for number in ours:
            signal.signal(number, interrupt)
    except ValueError:  # not the main thread: whoever started us decides
        yield
        return
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
