"""What a container lives by, tried with a plain shell; real containers are in tests/contract."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchbuild.edges.atomic import leftovers
from torchbuild.edges.lifeline import ENTRY, NO_DIRECTORY, NO_PROGRAM, lifeline

ALONE = ("/usr/bin/unshare", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", ENTRY, "sh")
"""In process ids of its own, since the watcher ends everything that it can see."""


@pytest.fixture(autouse=True)
def namespaces() -> None:
    """A kernel that lets us have process ids of our own."""
    tried = subprocess.run([*ALONE[:4], "/bin/true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no process ids of our own: {tried.stderr.strip()}")


def enter(cwd: str, program: str, pipe: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Begin as a container does."""
    return subprocess.run(
        [*ALONE, cwd, program, str(pipe), *argv], capture_output=True, text=True, check=False
    )


def test_command_runs_while_we_live(tmp_path: Path) -> None:
    """The command begins, nothing of the pipe is left for it to see, and we know that it began."""
    with lifeline(tmp_path) as line:
        done = enter(str(tmp_path), "/bin/ls", line.path, "/bin/ls", "-A", ".")
        taken = line.was_taken()
    assert (done.returncode, done.stdout, taken) == (0, "", True)


def test_one_that_comes_too_late_never_begins(tmp_path: Path) -> None:
    """A container that starts when its caller is dead, or gone on, does nothing and leaves nothing."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    late = enter("/", "/bin/echo", pipe, "/bin/echo", "ran")
    later = enter("/", "/bin/echo", pipe, "/bin/echo", "ran")
    assert (late.stdout, later.stdout, late.returncode, later.returncode, list(tmp_path.iterdir())) == (
        "",
        "",
        66,
        66,
        [],
    )


@pytest.mark.parametrize(
    ("cwd", "program", "code"),
    [
        ("/no/such", "/bin/true", NO_DIRECTORY),
        ("/", "/no/such", NO_PROGRAM),
        ("/", "/etc/passwd", NO_PROGRAM),
    ],
)
def test_what_cannot_start_takes_no_line(cwd: str, program: str, code: int, tmp_path: Path) -> None:
    """A container without the directory or the program is told from a command that ended with that code."""
    with lifeline(tmp_path) as line:
        done = enter(cwd, program, line.path, program)
        assert (done.returncode, line.was_taken()) == (code, False)


def test_pipe_of_a_killed_caller_is_swept(tmp_path: Path) -> None:
    """What a caller that was killed leaves of it is found and removed like every rest of it."""
    script = """
import os, signal, sys
from pathlib import Path
from torchbuild.edges.lifeline import lifeline
with lifeline(Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], env={"PYTHONPATH": str(root)}, check=False)
    assert (len(list(tmp_path.iterdir())), leftovers(tmp_path)) == (1, tuple(tmp_path.iterdir()))
