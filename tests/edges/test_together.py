"""Jobs side by side: all are tried, and one thread alone tells how they went."""

from __future__ import annotations

import threading

import pytest

from torchbuild.edges.together import all_of
from torchbuild.errors import FetchError, HostError


def failing(name: str) -> FetchError:
    """One of ours."""
    return FetchError("not-found", f"{name} is not there", why="seen nothing", fix="Look elsewhere.")


def several(count: str, why: tuple[str, ...], fix: str) -> FetchError:
    """What the caller makes of several."""
    return FetchError("artifacts-not-fetched", count, why=why, fix=fix)


def test_results_come_in_the_order_of_the_jobs() -> None:
    """Whoever is ready first; progress is told in the caller's own thread."""
    tellers: list[threading.Thread] = []
    gate = threading.Event()

    def late() -> int:
        gate.wait(10)
        return 1

    def early() -> int:
        gate.set()
        return 2

    found = all_of(
        [late, early],
        at_once=2,
        several=several,
        on_done=lambda _index: tellers.append(threading.current_thread()),
        give_up=lambda: None,
    )

    assert found == [1, 2]
    assert tellers == [threading.current_thread()] * 2


def test_one_failure_is_raised_as_it_is_after_the_others_ended() -> None:
    """What could be had is had."""
    done: list[int] = []

    def fail() -> int:
        raise failing("a")

    with pytest.raises(FetchError) as caught:
        all_of([fail, lambda: 1], at_once=1, several=several, on_done=done.append, give_up=lambda: None)

    assert caught.value.what == "a is not there"
    assert done == [1]


def test_several_failures_are_one_error() -> None:
    """Each with its reason, in the order of the jobs."""

    def fail(name: str) -> int:
        raise failing(name)

    with pytest.raises(FetchError) as caught:
        all_of(
            [lambda: fail("a"), lambda: 1, lambda: fail("b")],
            at_once=2,
            several=several,
            on_done=lambda _index: None,
            give_up=lambda: None,
        )

    assert (caught.value.reference, caught.value.what) == ("artifacts-not-fetched", "2 of 3")
    assert caught.value.fix == "Look elsewhere."
    assert [line.partition(";")[0] for line in caught.value.why] == [
        "not-found: a is not there",
        "not-found: b is not there",
    ]


@pytest.mark.parametrize("error", [HostError("disk-full", "full", fix="Free space."), KeyboardInterrupt()])
def test_what_ends_everything_wakes_what_waits(error: BaseException) -> None:
    """A full disk or Ctrl-C does not wait for a server that says nothing."""
    over = threading.Event()
    later: list[int] = []

    def fail() -> None:
        raise error

    def hang() -> None:
        assert over.wait(10)

    with pytest.raises(type(error)):
        all_of(
            [fail, hang, *[lambda: later.append(1)] * 3],
            at_once=2,
            several=several,
            on_done=lambda _index: None,
            give_up=over.set,
        )

    assert over.is_set()
    assert len(later) < 3
