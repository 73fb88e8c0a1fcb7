"""What ends a run from outside: Ctrl-C, whoever ends its process, and the time that it was given."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from torchbuild.model.stopped import Reason, stopped

__all__ = ["StopRequests"]

_GENTLY = "what compiles now is finished and nothing else begins; "


class StopRequests:
    """Hears of them; satisfies `torchbuild.context.Stopping`.

    The first Ctrl-C lets what compiles end, the next ends it. SIGTERM, as a CI system or a scheduler sends
    it, and SIGHUP, as a terminal that closes does, end it at once: who sends them kills soon after. All of
    them leave a report. A signal that the caller ignores, as nohup does, stays ignored.
    """

    def __init__(
        self, *, until: float | None = None, tell: Callable[[str], None] = lambda _text: None
    ) -> None:
        """Nothing is heard yet.

        Args:
            until: the moment, as `time.monotonic` tells it, after which nothing begins; None for never.
            tell: hears one line for who waits.
        """
        self.reason: Reason = ""
        self._until, self._tell = until, tell
        self._mark: Path | None = None
        self._is_paused: Callable[[], bool] = lambda: False
        self._was_cut = self._is_over = False
        self._news = threading.Event()

    def report_to(self, tell: Callable[[str], None], is_paused: Callable[[], bool]) -> None:
        """From now on `tell` hears it; where all stands still, nothing would ever be finished."""
        self._tell, self._is_paused = tell, is_paused

    @contextmanager
    def gently(self, mark: Path) -> Iterator[None]:
        """While the body runs, who asks first gets the file `mark` made and nothing ended."""
        self._mark = mark
        try:
            if self.reason:
                _make(mark)
            yield
        finally:
            self._mark = None

    def ending(self, error: BaseException) -> BaseException:
        """What a run ends with, where an interruption was ours."""
        if isinstance(error, KeyboardInterrupt) and self._was_cut:
            return stopped("time")
        return error

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen while the body runs. Not in the main thread: whoever started us hears the signals."""
        watch = threading.Thread(target=self._watch, name="stop-requests", daemon=True)
        handlers = {
            number: handler
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if (handler := signal.getsignal(number)) != signal.SIG_IGN
        }
        is_main = threading.current_thread() is threading.main_thread()
        try:
            for number in handlers if is_main else ():
                signal.signal(number, self._interrupt)
            watch.start()
            yield
        finally:
            self._is_over = True
            self._news.set()
            if watch.is_alive():
                watch.join()
            for number, handler in handlers.items() if is_main else ():
                signal.signal(number, handler)

    def _interrupt(self, number: int, _frame: object) -> None:
        if number == signal.SIGINT and not self.reason and self._mark is not None and not self._is_paused():
            with suppress(OSError):
                self._ask("interrupt")
                return
        raise KeyboardInterrupt

    def _ask(self, reason: Reason) -> None:
        self.reason = reason
        mark = self._mark
        if mark is not None:
            _make(mark)
        self._news.set()

    def _watch(self) -> None:
        """Tells, since a handler must not, and knows the time."""
        left = None if self._until is None else max(0.0, self._until - time.monotonic())
        if not self._news.wait(left):
            self._time_is_over()
        if self._is_over:
            return
        if self._mark is None:
            self._tell("the time that --stop-after gives is over: the build ends after this stage")
        elif self.reason == "time":
            self._tell("the time that --stop-after gives is over: " + _GENTLY + "Ctrl-C ends all at once")
        else:
            self._tell("stopping: " + _GENTLY + "Ctrl-C again ends all at once")

    def _time_is_over(self) -> None:
        with suppress(OSError):  # where no mark can be made, the next stage does not begin
            self._ask("time")
        if self._is_paused():
            self._was_cut = True
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _make(mark: Path) -> None:
    os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
