"""The command as a whole: one document, one exit code, whatever the subject does."""

from __future__ import annotations

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
