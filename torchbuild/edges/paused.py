"""What runs, paused and resumed as one: a process with all that it started, or an engine's container."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import PurePath
from typing import TYPE_CHECKING

from torchbuild.edges.engine import engine_argv
from torchbuild.edges.process import capture
from torchbuild.errors import HostError

if TYPE_CHECKING:
    import psutil

__all__ = ["PausedContainer", "PausedTree"]


class PausedTree:
    """Stops a tree from its root down, so that no branch can grow while the rest is being stopped.

    Signals to a group would not do: a build program gives each compiler a group of its own.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._stopped: dict[int, psutil.Process] = {}

    def pause(self) -> bool:
        """Stop every process of the tree that is not stopped yet; False where there is none.

        To be called again while the pause lasts is no error.
        """
        fresh = True
        while fresh:
            fresh = False
            for process in self._tree():
                if process.pid not in self._stopped and _signalled(process, signal.SIGSTOP):
                    self._stopped[process.pid] = process
                    fresh = True
        return bool(self._stopped)

    def resume(self) -> None:
        """Let go on what `pause` stopped, the leaves first."""
        for process in reversed(self._stopped.values()):
            _signalled(process, signal.SIGCONT)
        self._stopped.clear()

    def end(self) -> None:
        """Kill what `pause` stopped, the root first: nothing of it runs again."""
        for process in self._stopped.values():
            _signalled(process, signal.SIGKILL)

    def _tree(self) -> list[psutil.Process]:
        import psutil  # noqa: PLC0415  only where something is paused

        with contextlib.suppress(psutil.Error):
            root = psutil.Process(self._pid)
            return [root, *root.children(recursive=True)]
        return []


class PausedContainer:
    """Has the engine freeze a container; stopping the engine's client would stop nothing.

    Podman of an ordinary user can freeze nothing where the kernel gives users no control groups: there the
    container's processes are that user's own, and are stopped one by one.
    """

    def __init__(self, engine: str, name: str) -> None:
        self._engine, self._name = engine, name
        self._is_frozen = False
        self._was_asked = False
        self._tree: PausedTree | None = None

    def pause(self) -> bool:
        """Whether it stands still now. To be called again while it does costs little."""
        if self._tree is None:
            self._was_asked = True
            self._is_frozen = self._is_frozen or self._asked("pause") is not None
            if self._is_frozen:
                return True
            self._tree = self._processes()
        return self._tree is not None and self._tree.pause()

    def resume(self) -> None:
        """Let it go on, where it stood still."""
        if self._was_asked:  # one that gave no answer in time may have frozen it since
            self._asked("unpause")
        self._is_frozen = self._was_asked = False
        if self._tree is not None:
            self._tree.resume()

    def end(self) -> None:
        """Have the engine kill it; what is frozen cannot be killed."""
        if self._was_asked:
            self._asked("unpause")
        self._asked("kill")

    def _processes(self) -> PausedTree | None:
        """The container's first process, with all that it started, where it runs on this very machine.

        The number that a remote engine tells is one of another kernel. Here podman's monitor, which has the
        container's name, is that process's parent.
        """
        import psutil  # noqa: PLC0415  as above

        told = (self._asked("inspect", "--format={{.State.Pid}}") or "").strip()
        if PurePath(self._engine).name != "podman" or not told.isdecimal() or int(told) == 0:
            return None
        with contextlib.suppress(psutil.Error):
            monitor = psutil.Process(int(told)).parent()
            if monitor is not None and self._name in monitor.cmdline():
                return PausedTree(int(told))
        return None

    def _asked(self, verb: str, *options: str) -> str | None:
        """What the engine prints; None where it refuses: not there yet, or ended meanwhile."""
        with contextlib.suppress(HostError):
            return capture(engine_argv(self._engine, verb, *options, self._name))
        return None


def _signalled(process: psutil.Process, number: signal.Signals) -> bool:
    """Whether the very process that was seen, and not one that got its number, took the signal."""
    import psutil  # noqa: PLC0415  as above

    with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
        if process.is_running():
            os.kill(process.pid, number)
            return True
    return False
