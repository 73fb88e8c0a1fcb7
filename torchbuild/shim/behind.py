"""The command behind the filter: started there, and reaped with all that it leaves."""

import contextlib
import os
import re
import subprocess
import threading
from typing import Callable, Dict, List, Optional, Tuple

from .behalf import can_connect
from .rights import give_up_tracing, hide_memory
from .seccomp import Abi, deny_program, install, native, notify_program

__all__ = ["GuardedCommand"]

_OLDEST_KERNEL = (5, 5)
"""The first that lets a call go on after it was looked at."""


class GuardedCommand(threading.Thread):
    """Goes behind the filter, starts the command there and reaps it and all that it leaves.

    A thread and not a process, because a listener has to reach who reads it: threads share descriptors,
    while a child behind the filter could hand it over only by a call that the filter holds up.
    """

    def __init__(self, argv: List[str], *, alone: bool, tell: Callable[[str, str], None]) -> None:
        """Nothing runs yet.

        Args:
            argv: the command.
            alone: whether no network namespace is around.
            tell: hears how the command is watched, and why not better, before it starts.
        """
        super().__init__(daemon=True)
        self._argv = argv
        self._alone = alone
        self._tell = tell
        self._environment = _environment()
        self.listener = 0
        self.watch = "none"
        self._why = ""
        self.pid = 0
        self.failure: Optional[OSError] = None
        self.status = 0
        """As waitpid(2) gives it."""
        self._asked: List[int] = []
        """Signals that it has still to get."""
        self.started = threading.Event()
        self.empty = threading.Event()
        """Set when nothing that the command started is left."""
        self.ended, self._end = os.pipe()
        """Can be read at its end when the command itself has ended."""

    def send(self, number: int) -> None:
        """Pass a signal on to the command, also where it is only about to start. For a handler of signals."""
        self._asked.append(number)
        self._deliver()

    def _deliver(self) -> None:
        """From both threads, whichever comes last: each signal is taken out once."""
        with contextlib.suppress(IndexError, ProcessLookupError):
            while self.pid:
                os.kill(self.pid, self._asked.pop(0))

    def run(self) -> None:
        """Start, and wait to the very end."""
        try:
            self._go_behind()
            self._tell(self.watch, self._why)
            if self.watch != "none" or not self._alone:
                self._start()
        except OSError as failure:
            self.failure = failure
        finally:
            self.started.set()
        if self.pid:
            self._reap()
        self.empty.set()

    def _go_behind(self) -> None:
        abis = native(os.uname().machine)
        if abis is None:
            self._why = "no numbers of calls are known for %s" % os.uname().machine
            return
        if _kernel() < _OLDEST_KERNEL:
            self._why = "Linux %d.%d cannot let a call go on after it was looked at" % _kernel()
            self._deny(abis)
            return
        try:
            if self._alone and not can_connect():
                self._why = "nothing lends us the sockets of other processes"
                self._deny(abis)
                return
            # The listener in the hands of what it listens to would answer that all is well.
            hide_memory()
            guards = (os.getpid(), threading.get_native_id())
            program = notify_program(abis, guards=guards, alone=self._alone)
            self.listener = install(program, abis[0].seccomp, listen=True)
            give_up_tracing()
            self.watch = "notify"
        except (ImportError, OSError) as first:
            self._why = str(first)
            self._deny(abis)

    def _deny(self, abis: Tuple[Abi, ...]) -> None:
        """Where a network namespace is around, nothing gets out without a filter either."""
        if self._alone:
            with contextlib.suppress(ImportError, OSError):
                install(deny_program(abis), abis[0].seccomp, listen=False)
                self.watch = "deny"

    def _start(self) -> None:
        # posix_spawn would leave a signal of the C library ignored in the command: it is to be as without us.
        subprocess._USE_POSIX_SPAWN = False  # type: ignore[misc]  # noqa: SLF001  documented
        process = subprocess.Popen(self._argv, env=self._variables(), close_fds=False)
        self.pid = process.pid
        process.returncode = 0  # it is reaped here, with what it leaves
        self._deliver()

    def _variables(self) -> Dict[bytes, bytes]:
        """As handed to us. Alone there is no UDP: lookups of the C library go by TCP, to be told by name."""
        if self.watch != "notify" or not self._alone:
            return self._environment
        given = self._environment.get(b"RES_OPTIONS", b"")
        return {**self._environment, b"RES_OPTIONS": (given + b" use-vc").strip()}

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                ended, status = os.waitpid(-1, 0)
                if ended == self.pid:
                    self.status = status
                    os.close(self._end)


def _kernel() -> Tuple[int, int]:
    """A vendor may hang anything on the two numbers."""
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def _environment() -> Dict[bytes, bytes]:
    """As it was handed to us: starting, an interpreter may add to its own."""
    try:
        with open("/proc/self/environ", "rb") as handle:
            pairs = (item.partition(b"=") for item in handle.read().split(b"\0"))
            return {name: value for name, sign, value in pairs if sign}
    except OSError:
        return dict(os.environb)
