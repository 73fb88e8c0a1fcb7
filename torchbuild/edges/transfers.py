"""Several transfers at a time: how far they are together, and how all of them stand still or end."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from torchbuild.errors import HostError, TorchbuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

__all__ = ["Meter", "Stop", "StoppedError", "bring_all"]

_AT_ONCE = 4
_LOOK_S = 0.1
"""Seconds between two looks at whether waiting has become pointless."""


class Meter:
    """Adds up the bytes of all files; one caller at a time reaches the listener."""

    def __init__(
        self, sizes: Iterable[tuple[str, int | None]], tell: Callable[[int, int, str], None]
    ) -> None:
        """Nothing has come yet.

        Args:
            sizes: each file by a key of its own, and its bytes, or None where nobody knows.
            tell: takes bytes done, bytes in all (0: unknown) and a file's name.
        """
        self._sizes = dict(sizes)
        self._done: dict[str, int] = {}
        self._tell = tell
        self._lock = threading.Lock()

    def learn(self, key: str, size: int) -> None:
        """A server said how long a file is."""
        with self._lock:
            self._sizes[key] = size

    def listener(self, key: str, name: str, stop: Stop) -> Callable[[int], None]:
        """What to tell how many bytes of a file are here; ends its transfer once `stop` is set."""

        def note(done: int) -> None:
            stop.check()
            with self._lock:
                self._done[key] = done
                self._tell(sum(self._done.values()), self._total(), name)

        return note

    def _total(self) -> int:
        sizes = self._sizes.values()
        return 0 if None in sizes else sum(size or 0 for size in sizes)


class StoppedError(Exception):
    """Another thread saw the user's Ctrl-C, or a machine that cannot go on."""


class Stop(threading.Event):
    """Set once going on is pointless; until then it can be made to wait."""

    def __init__(self) -> None:
        """Nothing waits."""
        super().__init__()
        self._may_go = threading.Event()
        self._may_go.set()

    def pause(self) -> bool:
        """Have whoever checks wait; it always can be."""
        self._may_go.clear()
        return True

    def resume(self) -> None:
        """Let it go on."""
        self._may_go.set()

    def check(self) -> None:
        """Wait while paused; StoppedError where it is over."""
        while not self._may_go.wait(_LOOK_S) and not self.is_set():
            pass
        if self.is_set():
            raise StoppedError


def bring_all(jobs: Sequence[Callable[[], None]], stop: Stop) -> list[TorchbuildError]:
    """Everything that can be brought, several at a time; the failures, in the order of the jobs.

    Raises:
        HostError: at once, and the rest is left: the machine cannot go on.
    """
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fetch") as pool:
        running = [pool.submit(_job, job, stop) for job in jobs]
        try:
            wait(running, return_when=FIRST_EXCEPTION)
        finally:
            # By now all is done, or something happened that makes the rest pointless.
            stop.set()
            for job in running:
                job.cancel()
    return [error for job in running if (error := _outcome(job)) is not None]


def _job(bring: Callable[[], None], stop: Stop) -> TorchbuildError | None:
    """One file; what only concerns that file is returned, what ends everything is raised."""
    try:
        stop.check()
        bring()
    except StoppedError:
        return None
    except HostError:
        raise
    except TorchbuildError as error:
        return error
    return None


def _outcome(job: Future[TorchbuildError | None]) -> TorchbuildError | None:
    return None if job.cancelled() else job.result()
