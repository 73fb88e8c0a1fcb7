"""Several transfers as one: what they are worth together, and that they end together."""

from __future__ import annotations

import threading

import pytest

from torchbuild.edges.transfers import Meter, Stop, StoppedError, bring_all
from torchbuild.errors import FetchError, HostError


def test_a_total_is_known_once_each_length_is() -> None:
    """Until the last server said how long its file is, the whole is not made up."""
    told: list[tuple[int, int, str]] = []
    meter = Meter([("a", None), ("b", 5)], lambda *row: told.append(row))
    stop = Stop()
    meter.listener("b", "b.whl", stop)(3)
    meter.learn("a", 10)
    meter.listener("a", "a.txz", stop)(4)

    assert told == [(3, 0, "b.whl"), (7, 15, "a.txz")]


def test_what_fails_alone_is_returned_and_the_rest_is_brought() -> None:
    """In the order of the jobs."""
    brought: list[int] = []

    def job(number: int) -> None:
        if number % 2:
            raise FetchError("not-found", f"{number}", fix="Add it.")
        brought.append(number)

    failures = bring_all([lambda number=number: job(number) for number in range(8)], Stop())  # type: ignore[misc]

    assert [error.what for error in failures] == ["1", "3", "5", "7"]
    assert sorted(brought) == [0, 2, 4, 6]


def test_a_machine_that_cannot_go_on_ends_all() -> None:
    """What waits is told that waiting is pointless."""
    stop, waits = Stop(), threading.Event()

    def wait() -> None:
        waits.set()
        assert stop.wait(60)
        stop.check()

    def full() -> None:
        assert waits.wait(60)
        raise HostError("disk-full", "no space", fix="Free some.")

    with pytest.raises(HostError):
        bring_all([wait, full], stop)
    with pytest.raises(StoppedError):
        stop.check()
