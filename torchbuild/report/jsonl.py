"""Every event as one line of JSON, for programs: ``events.jsonl``."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from torchbuild.errors import HostError
from torchbuild.report.events import Event

__all__ = ["JsonLines", "open_events", "utc_now"]


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(tz=UTC)


def open_events(path: Path) -> TextIO:
    """The file, to be appended to, so that a continued run keeps what came before.

    Raises:
        HostError: ``disk-full`` or ``not-writable``.
    """
    try:
        return path.open("a", encoding="utf-8", buffering=1, newline="\n")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise HostError(
                "disk-full",
                f"no space is left for {path}",
                why=str(error),
                fix="Free space on that file system, then run the same command again.",
            ) from error
        raise HostError(
            "not-writable",
            f"cannot write {path}",
            why=str(error),
            fix=f"Make {path.parent} a directory that you may write to.",
        ) from error


class JsonLines:
    """A renderer that writes ``{"time": ..., "kind": ..., ...}`` a line, whole lines only.

    Args:
        stream: where to.
        now: the clock, aware of its time zone.
        closes: whether `close` closes the stream.
    """

    def __init__(self, stream: TextIO, now: Callable[[], datetime] = utc_now, *, closes: bool = True) -> None:
        self._stream = stream
        self._now = now
        self._closes = closes

    def handle(self, event: Event) -> None:
        """Write the event and push it to the operating system."""
        time = self._now().isoformat(timespec="milliseconds")
        record = {"time": time, **event.model_dump(mode="json")}
        self._stream.write(json.dumps(record) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Close the stream, where it is ours."""
        if self._closes:
            self._stream.close()
