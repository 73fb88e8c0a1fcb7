"""The command as people call it: help at once, one error boundary, exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torchbuild.cli.main import main, run_main

ROOT = Path(__file__).parents[2]
START = [sys.executable, "-c", "from torchbuild.cli.main import main; main()"]


def call(*argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [*START, *argv], cwd=ROOT, env=os.environ | environ, capture_output=True, text=True, check=False
    )


def test_help_names_every_command_and_loads_none_of_them() -> None:
    """What `--help` shows comes from a table; no command, model or edge is imported for it."""
    probe = (
        "import sys\n"
        "from torchbuild.cli.main import run_main\n"
        "assert run_main(['--help']) == 0\n"
        "heavy = ('pydantic', 'rich', 'requests', 'git', 'capstone', 'subprocess', 'torchbuild.cli.build', "
        "'torchbuild.pipeline')\n"
        "sys.exit(','.join(name for name in heavy if name in sys.modules) or 0)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert all(
        f"  {name} " in done.stdout
        for name in ("build", "plan", "lock", "clean", "store", "shell", "explain", "schema")
    )


def test_help_answers_at_once() -> None:
    """The best of several starts takes less processor time than a person notices."""
    best = min(_processor_seconds() for _ in range(5))

    assert best < 0.3


def _processor_seconds() -> float:
    before = os.times()
    assert call("--help").returncode == 0
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def test_no_argument_is_a_question_for_help() -> None:
    """The bare command tells what there is."""
    assert call().stdout == call("--help").stdout == call("-h").stdout


def test_the_version_is_one_line_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """`torchbuild --version` is for scripts as well."""
    assert run_main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("torchbuild ")


@pytest.mark.parametrize(
    ("argv", "reference", "fix"),
    [
        (["biuld"], "command-unknown", "Run torchbuild build."),
        (["xyzzy"], "command-unknown", "Run torchbuild --help for what there is."),
        (["--no-such-option"], "usage-wrong", "Run torchbuild --help for what may be given."),
        (["explain"], "usage-wrong", "Run torchbuild explain --help for what may be given."),
        (["explain", "x", "--colour"], "usage-wrong", "Run torchbuild explain --help for what may be given."),
        (["explain", "no-such-name-anywhere"], "explain-unknown", ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_wrong_command_line_is_exit_code_2(
    argv: list[str], reference: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is wrong with a command line is said like every other error, on stderr."""
    assert run_main(argv) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error[{reference}]: ")
    assert f"  fix   {fix}" in said.err


def test_the_exit_code_of_the_process_is_the_familys() -> None:
    """What `run_main` returns is what a shell sees."""
    assert call("explain", "no-such-name-anywhere").returncode == 2


def test_main_exits(capsys: pytest.CaptureFixture[str]) -> None:
    """The console script never returns."""
    with pytest.raises(SystemExit) as caught:
        main(["--version"])

    assert caught.value.code == 0
    assert "torchbuild" in capsys.readouterr().out


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`torchbuild schema | head -1` ends quietly, as a pipe breaks for any program."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*START, "schema"], cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("argv", [["schema"], ["explain", "name", "--json"], ["--help"]], ids=" ".join)
def test_a_full_disk_behind_stdout_is_said(argv: list[str]) -> None:
    """A result that could not be written is never taken for one that was."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*START, *argv], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.returncode == 6
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("argv", [["explain", "name"], ["explain", "name", "--json"]], ids=" ".join)
def test_closed_streams_are_no_crash(argv: list[str]) -> None:
    """A daemon may start us without stdout and stderr."""
    code = f"import os; os.close(1); os.close(2); os.execv({sys.executable!r}, {[*START, *argv]!r})"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=60)

    assert done.returncode == 6


def test_a_start_costs_no_network_and_no_files(tmp_path: Path) -> None:
    """`--help` leaves nothing behind in an empty home."""
    start = time.monotonic()

    assert call("--help", HOME=str(tmp_path), XDG_STATE_HOME="", XDG_CACHE_HOME="").returncode == 0

    assert list(tmp_path.iterdir()) == []
    assert time.monotonic() - start < 60


def test_a_shell_can_complete_commands() -> None:
    """`torchbuild exp<TAB>` works where the shell's completion is set up."""
    done = call(_TORCHBUILD_COMPLETE="bash_complete", COMP_WORDS="torchbuild exp", COMP_CWORD="1")

    assert done.stdout == "plain,explain\n"
