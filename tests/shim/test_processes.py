"""Processes as the kernel shows them."""

from __future__ import annotations

import os
import subprocess

import pytest

from torchbuild.shim.processes import Process, Processes, _process, command, is_below, look


def test_what_a_process_started_is_found() -> None:
    """Children and theirs, with the memory that they hold; what has ended is no child."""
    script = "sh -c 'echo; kill -STOP $$' & wait"  # it is what it will stay: no program is just being loaded
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as shell:
        assert shell.stdout is not None
        shell.stdout.read(1)
        seen = look()
        below = list(seen.below(os.getpid()))
        os.killpg(shell.pid, 9)

    (child,) = seen.children(shell.pid)
    assert {shell.pid, child.pid} <= {process.pid for process in below}
    assert child.parent == shell.pid
    assert seen.resident(shell.pid) > 100_000
    assert seen.resident(os.getpid()) > seen.resident(shell.pid)


@pytest.mark.parametrize("name", ["cc1plus", "a b", ") S 1 (", "x)"])
def test_a_name_may_hold_anything(name: str) -> None:
    """A process that is called like a line of the kernel's misleads nobody."""
    rest = " ".join(["S", "7", *["0"] * 19, "25", "0"])

    made = _process(5, f"5 ({name}) {rest}\n".encode())

    assert made == Process(5, 7, name, 25 * os.sysconf("SC_PAGE_SIZE"), is_over=False)


def test_what_has_ended_holds_nothing() -> None:
    """A process whose parent has not looked yet is not counted."""
    seen = Processes([Process(2, 1, "a", 10, is_over=False), Process(3, 1, "b", 10, is_over=True)])

    assert [process.pid for process in seen.children(1)] == [2]
    assert seen.resident(1) == 10


def test_what_is_below_is_found_from_below() -> None:
    """Without a look at all processes; nothing is below the number of no process."""
    assert is_below(os.getpid(), os.getppid())
    assert not is_below(os.getppid(), os.getpid())
    assert not is_below(os.getpid(), 0)
    assert not is_below(1 << 30, os.getpid())


def test_a_command_is_shown_as_it_was_called() -> None:
    """What is gone has none."""
    assert "pytest" in command(os.getpid()) or "python" in command(os.getpid())
    assert command(1 << 30) == ""


@pytest.mark.parametrize(
    ("state", "stopped", "over"), [("T", True, False), ("Z", False, True), ("t", False, False)]
)
def test_states_are_told_apart(state: str, stopped: bool, over: bool) -> None:
    """Stopped by a signal is not the same as ended, nor as looked at by a debugger."""
    rest = " ".join([state, "7", *["0"] * 19, "25", "0"])

    made = _process(5, f"5 (a) {rest}\n".encode())

    assert (made.is_stopped, made.is_over) == (stopped, over)


def test_a_circle_is_walked_once() -> None:
    """A number that was used again while we looked makes no endless walk."""
    seen = Processes([Process(2, 3, "a", 1, is_over=False), Process(3, 2, "b", 1, is_over=False)])

    assert [process.pid for process in seen.below(2)] == [3]


def test_nothing_is_below_nobody() -> None:
    """The first process of a machine has no parent that is known: it is nobody's to measure, or to end."""
    seen = Processes([Process(1, 0, "init", 10, is_over=False), Process(2, 1, "a", 10, is_over=False)])

    assert list(seen.below(0)) == []
    assert seen.resident(0) == 0
