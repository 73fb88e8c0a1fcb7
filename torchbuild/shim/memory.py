"""How much memory all processes of the build hold together, sampled while ninja works."""

import os
import threading

__all__ = ["MemoryWatch", "anonymous_bytes"]

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


class MemoryWatch(threading.Thread):
    """Keeps the highest sum seen."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._over = threading.Event()

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

    def _look(self) -> None:
        self.peak = max(self.peak, anonymous_bytes())
