"""A named pipe by which a container knows that whoever started it is alive, without anybody's help.

An engine keeps a container whose client was killed with SIGKILL. A pipe does not: the kernel closes our end
with us. The container reads a line from it before it begins, so that one that comes too late never begins,
and waits for its end afterwards.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import temp_beside, translated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["ENTRY", "NO_DIRECTORY", "NO_PROGRAM", "Lifeline", "lifeline"]

NO_DIRECTORY = 64
"""How `ENTRY` ends where the directory is missing and `Lifeline.was_taken` says no."""
NO_PROGRAM = 65
"""The same where the program is."""

ENTRY = """
umask 022
cd "$1" || exit 64
case $2 in /*) test -x "$2" || exit 65 ;; esac
exec 4<>"$3" 3<"$3" 4>&-
read -r _ <&3 || { rm -f -- "$3"; exit 66; }
rm -f -- "$3"
shift 3
(
  trap '' HUP INT QUIT TERM TSTP
  { read -r _; kill -KILL -1; } <&3 >/dev/null 2>&1 &
)
exec "$@" 3<&- 2>&1
"""
"""What a container runs: directory, program, the pipe's path and the command are its arguments.

A constant, so that the command is only ever its arguments. Opening for both ways first keeps the shell from
waiting for a writer that is dead already. One pipe for stdout and stderr keeps their order, which an
engine's two pipes lose.
"""


class Lifeline:
    """Our end of the pipe. `lifeline` makes and closes it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def was_taken(self) -> bool:
        """Whether a container took the line: its command was started. To be asked once, after the end."""
        try:
            return not os.read(self._descriptor, 1)
        except BlockingIOError:
            return True


@contextlib.contextmanager
def lifeline(directory: Path) -> Iterator[Lifeline]:
    """A pipe in `directory`, under a name of ours, that lives as long as the body, or this process, does.

    Raises:
        HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
    """
    path = temp_beside(directory / "pipe")
    with translated(path):
        os.mkfifo(path, 0o600)
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(descriptor, b"\n")
        yield Lifeline(path, descriptor)
    finally:
        os.close(descriptor)
        path.unlink(missing_ok=True)
