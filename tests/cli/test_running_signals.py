"""What ends a run from outside, and what is finished first."""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.cli.running_signals import StopRequests
from torchbuild.errors import OutOfTime


@pytest.fixture
def told() -> queue.Queue[str]:
    """What who waits is told."""
    return queue.Queue()


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """The file that tells a build to stop; handlers are afterwards as they were."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    yield tmp_path / "stop-asked"
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


def test_the_first_ctrl_c_lets_what_runs_end_and_the_second_does_not(
    mark: Path, told: queue.Queue[str]
) -> None:
    """The build is told by a file, which every engine shows it; whoever waits is told how to end it at once."""
    stopping = StopRequests(tell=told.put)
    with stopping.heard(), stopping.gently(mark):
        os.kill(os.getpid(), signal.SIGINT)
        assert mark.exists()
        assert "Ctrl-C again ends all at once" in told.get(timeout=60)
        assert stopping.reason == "interrupt"
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_where_nothing_compiles_ctrl_c_ends_the_run(mark: Path) -> None:
    """What such a stage did in a minute is done again in a minute."""
    stopping = StopRequests()
    with stopping.heard():
        with stopping.gently(mark):
            pass
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

    assert not mark.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_who_will_kill_soon_is_obeyed_at_once(mark: Path, number: signal.Signals) -> None:
    """A scheduler waits seconds, and a compiler may take minutes."""
    stopping = StopRequests()
    with stopping.heard(), pytest.raises(KeyboardInterrupt), stopping.gently(mark):
        os.kill(os.getpid(), number)

    assert not mark.exists()


def test_what_stands_still_is_ended_by_the_first_ctrl_c(mark: Path, told: queue.Queue[str]) -> None:
    """A build that waits for space on a disk would never finish what runs."""
    stopping = StopRequests()
    stopping.report_to(told.put, lambda: True)
    with stopping.heard(), pytest.raises(KeyboardInterrupt), stopping.gently(mark):
        os.kill(os.getpid(), signal.SIGINT)

    assert not mark.exists()


def test_a_mark_that_cannot_be_made_ends_it(mark: Path) -> None:
    """Somebody asked; nothing is pretended."""
    stopping = StopRequests()
    with stopping.heard(), pytest.raises(KeyboardInterrupt), stopping.gently(mark / "nowhere"):
        os.kill(os.getpid(), signal.SIGINT)


def test_after_its_time_nothing_begins(mark: Path, told: queue.Queue[str]) -> None:
    """The clock asks as Ctrl-C does, and is told by its own word."""
    stopping = StopRequests(until=time.monotonic() + 0.01, tell=told.put)
    with stopping.heard(), stopping.gently(mark):
        assert "what compiles now is finished" in told.get(timeout=60)
        assert mark.exists()

    assert stopping.reason == "time"


def test_a_time_that_was_over_before_compilers_began(mark: Path, told: queue.Queue[str]) -> None:
    """No compiler begins."""
    stopping = StopRequests(until=0, tell=told.put)
    with stopping.heard():
        assert "ends after this stage" in told.get(timeout=60)
        with stopping.gently(mark):
            assert mark.exists()


def test_a_build_that_waits_when_its_time_is_over_ends_with_it(mark: Path, told: queue.Queue[str]) -> None:
    """No space came: it ends by its clock and says so, before whoever started it kills it."""
    stopping = StopRequests(until=time.monotonic() + 0.01)
    stopping.report_to(told.put, lambda: True)
    with pytest.raises(KeyboardInterrupt) as caught, stopping.heard(), stopping.gently(mark):
        threading.Event().wait(60)

    assert isinstance(stopping.ending(caught.value), OutOfTime)


def test_what_nobody_asked_for_is_what_it_was(mark: Path) -> None:
    """An error is told as itself, and an interruption as one."""
    stopping = StopRequests()
    errors = (ValueError("x"), KeyboardInterrupt())
    with stopping.heard(), stopping.gently(mark):
        pass

    assert [stopping.ending(error) for error in errors] == [*errors]


def test_beside_the_main_thread_nothing_is_touched(mark: Path) -> None:
    """Whoever started us there hears the signals; the clock still counts."""
    stopping, seen = StopRequests(until=0), []

    def run() -> None:
        with stopping.heard():
            seen.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=60)

    assert seen == [before]
    assert not mark.exists()
