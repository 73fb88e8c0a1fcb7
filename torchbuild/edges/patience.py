"""How long to be patient with a network: what may pass by itself is tried again, and nothing else is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from torchbuild.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable

    import tenacity

__all__ = ["FRUITLESS", "Halt", "HaltedError", "PassingError", "persistently"]

T = TypeVar("T")

FRUITLESS = 5
"""Tries in a row that bring nothing before an error counts."""
_LONGEST_PAUSE_S = 120.0


class PassingError(Exception):
    """What may pass by itself. Holds the error that is raised once patience is over."""

    def __init__(self, error: FetchError, after_s: float = 0.0) -> None:
        """Note the error, and how many seconds the server asked to be left alone."""
        super().__init__(error.what)
        self.error = error
        self.after_s = after_s


class HaltedError(Exception):
    """Waiting has become pointless: the user pressed Ctrl-C, or the machine cannot go on."""


class Halt:
    """Lets threads wait between tries, and wakes all of them once going on is pointless."""

    def __init__(self, pause: Callable[[float], None] | None = None) -> None:
        """Nothing waits yet; `pause` is how to wait, in seconds; None: the clock."""
        self._event = threading.Event()
        self._pause = pause or self._event.wait

    def pause(self, seconds: float) -> None:
        """Wait; HaltedError at once where it is over."""
        self._pause(seconds)
        self.check()

    def check(self) -> None:
        """HaltedError where it is over."""
        if self._event.is_set():
            raise HaltedError

    def stop(self) -> None:
        """It is over."""
        self._event.set()


def persistently(
    attempt: Callable[[], T],
    pause: Callable[[float], None],
    progress: Callable[[], int] = lambda: 0,
    *,
    tries: int = FRUITLESS,
) -> T:
    """`attempt`, again while it raises PassingError, until some tries in a row brought nothing.

    Args:
        attempt: one try.
        pause: how to wait, in seconds.
        progress: a number that grows when a try brought something.
        tries: how many in a row.

    Raises:
        FetchError: the one that the last PassingError held.
    """
    import tenacity  # noqa: PLC0415

    best, fruitless = progress(), 0

    def is_enough(_state: tenacity.RetryCallState) -> bool:
        nonlocal best, fruitless
        now = progress()
        best, fruitless = max(best, now), 0 if now > best else fruitless + 1
        return fruitless >= tries

    growing = tenacity.wait_exponential_jitter(initial=1, max=30)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.after_s if isinstance(error, PassingError) else 0.0
        return min(asked, _LONGEST_PAUSE_S) or growing(state)

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(PassingError),
        stop=is_enough,
        wait=wait,
        sleep=pause,
        reraise=True,
    )
    try:
        return again(attempt)
    except PassingError as error:
        raise error.error from error.__cause__
