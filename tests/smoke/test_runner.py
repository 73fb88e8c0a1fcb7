"""One check, one process: every way to end comes to a finding."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("death", "word"),
    [
        ("import os; os.abort()", "SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import os; os._exit(3)", "exit 3"),
        ("import os; os._exit(0)", "exit 0"),
    ],
    ids=["abort", "crash", "exit 3", "silent exit"],
)
def test_death_is_a_finding(smoke: Callable, install: Callable, death: str, word: str) -> None:
    """A subject that takes its process down fails that check; the others still run."""
    run = smoke(install(more=f"def matmul(a, b):\n    {death}\n"))

    (found,) = run.failed()
    assert run.exit_code == 1
    assert found["reference"] == "smoke-matmul"
    assert word in found["seen"]
    assert run.outcomes("smoke-config") == ["passed"]


def test_crash_at_exit_is_a_finding(smoke: Callable, install: Callable) -> None:
    """A library whose own clean-up crashes, as two OpenMP run times in one process do, does not pass."""
    run = smoke(install(more="import atexit, os\natexit.register(os.abort)\n"), "--only", "config")

    assert run.outcomes("smoke-config") == ["passed", "failed"]
    assert "after its check" in run.failed()[0]["what"]


def test_hang_is_a_finding(smoke: Callable, install: Callable) -> None:
    """A subject that never answers is ended at the limit, with whatever it started."""
    hang = "import signal\ndef matmul(a, b):\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    signal.pause()\n"

    run = smoke(install(more=hang), "--only", "matmul", "--timeout", "2")

    (found,) = run.failed()
    assert found["seen"].startswith("time limit after 2.")
    assert 2 <= run.report["checks"][0]["seconds"] < 10


def test_exception_is_a_finding(smoke: Callable, install: Callable) -> None:
    """An exception, even the one that ends programs, is told in one line."""
    run = smoke(install(more='def matmul(a, b):\n    raise SystemExit("two\\nlines")\n'), "--only", "matmul")

    assert [found["seen"] for found in run.failed()] == ["SystemExit: two lines"]


def test_nothing_outlives_the_command(environment: Path, pyz: Path, install: Callable) -> None:
    """Where the command itself is killed, the check's process dies with it."""
    hang = "import os, signal\nos.write(2, b'hanging\\n')\nsignal.pause()\n"
    command = [str(environment / "bin" / "python"), "-I", str(pyz), "--package", install(more=hang)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "hanging\n"

    os.kill(process.pid, signal.SIGKILL)

    assert process.stderr.read() == ""  # the end of the pipe: nobody holds it any more
    assert process.wait() == -signal.SIGKILL
    process.stderr.close()
