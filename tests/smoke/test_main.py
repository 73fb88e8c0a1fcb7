"""The command as a whole: one document, one exit code, whatever the subject does."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


def test_good_subject_passes(smoke: Callable, install: Callable) -> None:
    """A subject that is right passes what it can do; what it lacks is `not run`, with the reason."""
    run = smoke(install())

    assert (run.exit_code, run.report["passed"]) == (0, True)
    for reference in (
        "smoke-import-identity",
        "smoke-version",
        "smoke-config",
        "smoke-matmul",
        "smoke-libraries",
    ):
        assert run.outcomes(reference) == ["passed"]
    (svd,) = (found for found in run.report["findings"] if found["reference"] == "smoke-svd")
    assert (svd["outcome"], "linalg.svd" in svd["what"]) == ("not run", True)
    assert [check["ended"] for check in run.report["checks"]] == ["exit 0"] * 7


@pytest.mark.parametrize("flags", [[], ["-I"], ["-I", "-B"], ["-I", "-X", "dev"]], ids=" ".join)
def test_bundle_runs_under_any_flags(
    environment: Path, pyz: Path, install: Callable, flags: list[str]
) -> None:
    """However the interpreter is started, the bundle finds itself and the subject."""
    command = [
        str(environment / "bin" / "python"),
        *flags,
        str(pyz),
        "--package",
        install(),
        "--only",
        "matmul",
    ]

    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_garbage_on_stdout_does_not_break_the_document(smoke: Callable, install: Callable) -> None:
    """What the subject prints, in Python, below it or at exit, goes to standard error."""
    noise = """
        import atexit, os, sys
        print("}{ garbage from print")
        os.write(1, b"garbage from below\\n")
        os.system("echo garbage from a child")
        sys.__stdout__.write("garbage, unflushed")
        atexit.register(print, "garbage at exit")
    """
    run = smoke(install(more=noise), "--only", "config")

    assert run.exit_code == 0
    assert "garbage from below" in run.stderr
    assert "garbage at exit" in run.stderr


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


def test_subject_that_does_not_import_fails_everything(smoke: Callable, install: Callable) -> None:
    """The first thing a broken wheel does: no check may call that `not run`."""
    broken = "raise ImportError('libtorch.so.2.6: cannot open shared object file')"

    run = smoke(install(broken))

    assert run.exit_code == 1
    assert {found["outcome"] for found in run.report["findings"]} == {"failed"}
    assert len(run.failed()) == len(run.report["checks"]) == 7
    assert "libtorch.so.2.6" in run.failed()[0]["seen"]


def test_missing_subject_fails(smoke: Callable) -> None:
    """A subject that is not installed is a failure, not an empty success."""
    run = smoke("no_such_package", "--only", "import_identity")

    assert (run.exit_code, run.outcomes("smoke-import-identity")) == (1, ["failed"])


def test_unknown_check_is_refused(environment: Path, pyz: Path) -> None:
    """A name that is no check ends in usage, not in nothing being run."""
    command = [str(environment / "bin" / "python"), "-I", str(pyz), "--only", "everything"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert "matmul" in done.stderr


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


def test_old_and_new_interpreters_run_the_bundle(other_python: str, pyz: Path, tmp_path: Path) -> None:
    """The bundle runs on the interpreter of the wheel, whichever that is."""
    (tmp_path / "toy.py").write_text(
        "def matmul(a, b):\n    return [[sum(map(lambda x, y: x * y, r, c)) for c in zip(*b)] for r in a]\n"
    )
    command = [other_python, str(pyz), "--package", "toy", "--only", "matmul", "--only", "svd"]

    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(tmp_path)}, timeout=120
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.torch_wheel
def test_official_torch_passes_everything(smoke: Callable, torch_python: str) -> None:
    """The official wheel passes every check, and none is left out."""
    run = smoke("torch", python=torch_python)

    assert run.failed() == []
    assert {found["outcome"] for found in run.report["findings"]} == {"passed"}
    assert run.exit_code == 0
