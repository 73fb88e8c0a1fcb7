"""Processes as the kernel shows them."""

from __future__ import annotations

import os
import subprocess

import pytest

from torchbuild.shim.processes import Process, Processes, _process, look


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
