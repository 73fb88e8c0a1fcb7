"""Patience is renewed by progress and ends without it."""

from __future__ import annotations

import threading

import pytest

from torchbuild.edges.patience import Halt, HaltedError, PassingError, persistently
from torchbuild.errors import FetchError


def passing() -> PassingError:
    """A failure that may pass."""
    return PassingError(FetchError("not-reachable", "down", fix="Wait."))


def test_progress_renews_patience(pauses: list[float]) -> None:
    """A line that breaks again and again is not given up while each try brings something."""
    brought = [0]

    def attempt() -> str:
        if brought[0] == 12:
            return "whole"
        brought[0] += 1
        raise passing()

    assert persistently(attempt, pauses.append, lambda: brought[0]) == "whole"


def test_fruitless_tries_end(pauses: list[float]) -> None:
    """Five tries in a row that brought nothing are enough; the error is the ordinary one."""

    def attempt() -> None:
        raise passing()

    with pytest.raises(FetchError) as caught:
        persistently(attempt, pauses.append)
    assert (caught.value.reference, len(pauses)) == ("not-reachable", 4)


def test_patience_can_be_short(pauses: list[float]) -> None:
    """Whoever knows the servers says how many tries are enough."""

    def attempt() -> None:
        raise passing()

    with pytest.raises(FetchError):
        persistently(attempt, pauses.append, tries=2)
    assert len(pauses) == 1


def test_a_pause_ends_when_it_is_over() -> None:
    """Who waits half a minute for a server does not keep Ctrl-C waiting."""
    halt, waiting = Halt(), threading.Event()
    seen: list[type[BaseException]] = []

    def wait() -> None:
        waiting.set()
        try:
            halt.pause(60)
        except HaltedError as error:
            seen.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    assert waiting.wait(10)
    halt.stop()
    thread.join(10)
    assert seen == [HaltedError]
    with pytest.raises(HaltedError):
        halt.check()
