"""Processes as ``/proc`` shows them: who started whom, and how much memory each holds."""

import os
from typing import Dict, Iterator, List, NamedTuple, Set

__all__ = ["Process", "Processes", "command", "is_below", "look"]

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PARENT, _RESIDENT = 1, 21
"""Where they stand behind the program's name."""
_DEEPEST = 100


class Process(NamedTuple):
    """One of them."""

    pid: int
    parent: int
    name: str
    """Its program's, at most 15 characters."""
    resident: int
    """Bytes of memory."""
    is_over: bool
    """Whether it has ended, and its parent has not looked."""
    is_stopped: bool = False
    """Whether a signal has stopped it."""


class Processes:
    """All of them at one moment."""

    def __init__(self, found: List[Process]) -> None:
        self._by_pid = {process.pid: process for process in found}
        self._children: Dict[int, List[Process]] = {}
        for process in found:
            self._children.setdefault(process.parent, []).append(process)

    def children(self, pid: int) -> List[Process]:
        """What a process started and what has not ended."""
        return [process for process in self._children.get(pid, ()) if not process.is_over]

    def started(self, pid: int) -> Set[int]:
        """What a process started and has not looked at since it ended, if it did."""
        return {process.pid for process in self._children.get(pid, ())}

    def line(self, pid: int, among: Set[int]) -> List[Process]:
        """The process, what started it and so on, up to one of those; empty where none of those did."""
        found: List[Process] = []
        process = self._by_pid.get(pid)
        while process is not None and process not in found:
            found.append(process)
            if process.pid in among:
                return found
            process = self._by_pid.get(process.parent)
        return []

    def jobs(self, pid: int) -> int:
        """How many those are: each has its token until it was looked at."""
        return len(self.started(pid))

    def below(self, pid: int) -> Iterator[Process]:
        """What a process started, and what that started; nothing is below 0, which is nobody we know."""
        waiting, found = (self.children(pid) if pid else []), {pid}
        while waiting:
            process = waiting.pop()
            if process.pid not in found:  # numbers are used again while we look
                found.add(process.pid)
                yield process
                waiting += self.children(process.pid)

    def resident(self, pid: int) -> int:
        """Bytes that all below a process hold."""
        return sum(process.resident for process in self.below(pid))


def look() -> Processes:
    """What runs now."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as handle:
                    found.append(_process(int(name), handle.read()))
            except (OSError, ValueError, IndexError):  # it ended while we looked
                continue
    return Processes(found)


def is_below(pid: int, above: int) -> bool:
    """Whether a process was started by another, or by what that started."""
    for _ in range(_DEEPEST):
        try:
            with open("/proc/%d/stat" % pid, "rb") as handle:
                pid = _process(pid, handle.read()).parent
        except (OSError, ValueError, IndexError):
            return False
        if pid in (0, above):
            break
    return pid == above != 0


def command(pid: int, most: int = 4096) -> str:
    """What a process was started with, as far as so many bytes tell; nothing where it is gone."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as handle:
            return handle.read(most).decode("utf-8", "replace").replace("\0", " ").strip()
    except OSError:
        return ""


def _process(pid: int, stat: bytes) -> Process:
    """The name may hold anything, parentheses too."""
    begin, end = stat.index(b"("), stat.rindex(b")")
    words = stat[end + 1 :].split()
    return Process(
        pid,
        int(words[_PARENT]),
        stat[begin + 1 : end].decode("utf-8", "replace"),
        int(words[_RESIDENT]) * _PAGE,
        words[0] in (b"Z", b"X"),
        words[0] == b"T",
    )
