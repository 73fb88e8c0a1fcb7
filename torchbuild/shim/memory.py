"""How much memory all processes of the build hold together, sampled while ninja works."""

import os
import threading
import time
from typing import Callable, Dict, Optional

from .samples import Samples

__all__ = ["MemoryWatch", "anonymous_bytes", "children"]

_PAGE = os.sysconf("SC_PAGE_SIZE")
_INTERVAL_S = 2.0


def anonymous_bytes() -> int:
    """Resident pages that no file backs, summed over every process that we can see.

    A build has a process namespace of its own, so what can be seen is the build. Shared pages of files
    are left out: they are not what runs a machine out of memory.
    """
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/statm" % name, encoding="ascii") as handle:
                    resident, shared = handle.read().split()[1:3]
            except (OSError, ValueError):  # it ended while we looked
                continue
            total += max(0, int(resident) - int(shared))
    return total * _PAGE


def children(pid: int) -> Optional[int]:
    """How many processes a process has started that have not ended; None where the kernel does not tell."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as handle:
            return len(handle.read().split())
    except OSError:
        return None


class MemoryWatch(threading.Thread):
    """Keeps the highest sum seen, and every look where there is a place for them."""

    def __init__(self, samples: Optional[Samples] = None) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._samples = samples
        self._ninja = 0
        self._also = dict  # type: Callable[[], Dict[str, int]]
        self._over = threading.Event()

    def watch(self, pid: int, also: Callable[[], Dict[str, int]] = dict) -> None:
        """Each child of this process is an edge that runs.

        Args:
            pid: ninja's.
            also: what else is kept of each moment.
        """
        self._ninja, self._also = pid, also

    def run(self) -> None:
        """Look at once and then every two seconds, until `stop`."""
        self._look()
        while not self._over.wait(_INTERVAL_S):
            self._look()

    def stop(self) -> None:
        """Look a last time and end."""
        self._over.set()
        self.join()
        self._look()
        if self._samples is not None:
            self._samples.flush()

    def _look(self) -> None:
        memory = anonymous_bytes()
        self.peak = max(self.peak, memory)
        if self._samples is not None:
            running = children(self._ninja) if self._ninja else 0
            self._samples.add(time.time(), memory, running, **self._also())
