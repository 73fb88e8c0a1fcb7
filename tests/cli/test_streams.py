"""The three standard streams, where the caller closed some of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
START = [sys.executable, "-m", "torchbuild"]
PROBE = """
import os, sys
from torchbuild.cli.streams import open_missing_streams
open_missing_streams()
os.open("/", os.O_RDONLY)
sys.stderr.write("unheard\\n")
sys.stderr.flush()
print([os.readlink(f"/proc/self/fd/{number}") for number in (0, 2)])
"""


def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a constant script with the real shell, which closes streams as a user does."""
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_no_file_gets_the_number_of_a_closed_stream() -> None:
    """What is meant for stderr never lands in a file of the build."""
    done = run('exec "$@" <&- 2>&-', sys.executable, "-c", PROBE)
    assert (done.returncode, done.stdout) == (0, "['/dev/null', '/dev/null']\n")


def test_streams_that_are_there_stay(tmp_path: Path) -> None:
    """Nothing changes where nothing was closed."""
    done = run('exec "$@" 2>&1', sys.executable, "-c", PROBE)
    assert "unheard" in done.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(("explain", "image-missing"), 0, id="a result"),
        pytest.param(("build", "no-such.toml"), 3, id="an error"),
        pytest.param(("build", "--no-such-option"), 2, id="a wrong line"),
    ],
)
def test_a_closed_stderr_changes_no_exit_code(words: tuple[str, ...], code: int) -> None:
    """Whoever does not want to hear still gets the result, and the exit code."""
    assert run('exec "$@" 2>&-', *START, *words).returncode == code


def test_a_closed_stdout_is_no_success() -> None:
    """A result that nobody can get is an error, with its reason on stderr."""
    done = run('exec "$@" >&-', *START, "explain", "image-missing")
    assert (done.returncode, "output-not-writable" in done.stderr) == (6, True)
