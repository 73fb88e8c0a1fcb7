"""The thread that goes behind the filter, in a process of its own: there is no way back."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

SCRIPT = """
import os, sys
sys.path.insert(0, sys.argv[1])
from torchbuild_shim.behind import GuardedCommand
command = GuardedCommand(sys.argv[2:], alone=False, tell=lambda *how: print(*how, flush=True))
command.start()
command.started.wait()
print(command.failure, flush=True)
command.empty.wait()
print(os.waitstatus_to_exitcode(command.status), os.read(command.ended, 1) if command.pid else None)
print([line for line in open("/proc/self/status") if line.startswith("Seccomp:")])
"""


def run(guard: Any, *argv: str) -> list[str]:
    """Run the script in the guard's own interpreter."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", SCRIPT, str(guard.top), *argv],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_only_the_command_is_behind_the_filter(guard: Any) -> None:
    """Who watches is not held up by what it watches; who is watched cannot leave."""
    first, *lines, code, ours = run(guard, "/bin/grep", "^Seccomp:\\|^NoNewPrivs:", "/proc/self/status")

    assert first == "notify "
    assert sorted(lines) == ["NoNewPrivs:\t1", "None", "Seccomp:\t2"]
    assert code == "0 b''"
    assert ours == "['Seccomp:\\t0\\n']"


def test_a_command_that_does_not_start_is_told(guard: Any) -> None:
    """A missing program ends the thread, and nobody waits for ever."""
    first, failure, *_ = run(guard, "/nonexistent")

    assert first == "notify "
    assert failure.startswith("[Errno 2]")


def test_a_signal_for_a_command_that_is_about_to_start_reaches_it(guard: Any) -> None:
    """Who is ended while a build begins does not wait for a command that never heard of it."""
    script = SCRIPT.replace("command.start()", "command.send(15)\ncommand.start()", 1)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(guard.top), "/bin/sleep", "600"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "-15 b''" in done.stdout.splitlines()
