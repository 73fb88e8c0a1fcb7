"""Ends ninja where somebody asked for it: what runs is finished, and nothing begins any more.

Ninja itself would kill what it runs. Here what it starts from now on is held where it stands, and what it had
started goes on. When the last of that has ended, and ninja has noted it, ninja is interrupted: it takes away
what the held ones may have begun to write, and the next ninja goes on where this one stopped.
"""

import contextlib
import os
import signal
from typing import List, Set

from .jobserver import CLIENTS
from .processes import Process, Processes, command

__all__ = ["INTERRUPTED", "Stopping"]

INTERRUPTED = (2, 128 + signal.SIGINT)
"""Exit codes of a ninja that was interrupted: those before 1.13, and those since."""


class Stopping:
    """Whether it was asked, what still runs, and what is held."""

    def __init__(self, mark: str) -> None:
        """Nothing is looked at yet.

        Args:
            mark: a file; where it is there, the build shall stop.
        """
        self._mark = mark
        self.is_asked = False
        """Whether somebody asked; it is never taken back."""
        self.is_over = False
        """Whether ninja was interrupted."""
        self._running: Set[int] = set()
        self._held: Set[int] = set()

    def is_new(self) -> bool:
        """Whether somebody has asked since the last look."""
        if self.is_asked or not os.path.exists(self._mark):
            return False
        self.is_asked = True
        return True

    def begin(self, seen: Processes, ninja: int, waiting: Set[int]) -> int:
        """From now on only what runs is finished; how many edges that are.

        Args:
            seen: the processes as they are.
            ninja: its process.
            waiting: launchers whose compilers wait, and never ran.
        """
        edges = seen.started(ninja)
        lines = [line for line in (seen.line(pid, edges) for pid in waiting) if line]
        self._running = edges - {line[-1].pid for line in lines if not _is_nested(line)}
        return len(self._running)

    def may_run(self, seen: Processes, launcher: int, *, has_run: bool) -> bool:
        """Whether a compiler belongs to what is finished: it ran before, or a make runs that is an edge.

        Args:
            seen: the processes as they are.
            launcher: what waits for it.
            has_run: whether it was let in before.
        """
        line = seen.line(launcher, self._running)
        if line and not has_run and not _is_nested(line):  # it had begun to ask when somebody asked us
            self._running.discard(line[-1].pid)
            return False
        return bool(line)

    def go_on(self, seen: Processes, ninja: int) -> None:
        """Hold what ninja has started since, and interrupt ninja where all else has ended."""
        edges = seen.started(ninja)
        if self.is_over:  # a shell that ninja interrupted as it began starts its program all the same
            self._end(edges, seen)
            return
        self._running &= edges
        ninja_itself = command(ninja)
        for edge in edges - self._running:
            if command(edge) == ninja_itself:
                continue  # not yet its program: until it is, ninja stands still and notes nothing
            self._held.add(edge)
            for pid in [edge, *(process.pid for process in seen.below(edge))]:
                _send(pid, signal.SIGSTOP)
        if not self._running:
            self.is_over = True
            _send(ninja, signal.SIGINT)
            self._end(self._held, seen)

    @staticmethod
    def _end(edges: Set[int], seen: Processes) -> None:
        """Ninja waits for what it interrupts, and what stands still cannot obey it."""
        for edge in edges:
            for pid in [edge, *(process.pid for process in seen.below(edge))]:
                _send(pid, signal.SIGKILL)


def _is_nested(line: List[Process]) -> bool:
    """Whether a launcher was started by a program that runs jobs of its own, which go on."""
    return any(process.name.startswith(CLIENTS) for process in line)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):  # it is gone
        os.kill(pid, number)
