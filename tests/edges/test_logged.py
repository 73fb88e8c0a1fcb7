"""Logs that say what was run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchbuild.context import Executor
from torchbuild.edges.local import LocalExecutor
from torchbuild.edges.logged import LoggedExecutor
from torchbuild.errors import HostError
from torchbuild.model.command import Command
from torchbuild.resolve.orders import printed_document

ECHO = Command(argv=("/bin/echo", "{venv}/bin/python", "two words"), environ=(("CC", "{venv}/cc"),))


@pytest.fixture
def executor(tmp_path: Path) -> Executor:
    """This machine's, with such logs."""
    local = LocalExecutor(root=tmp_path / "root", store=tmp_path / "store", cache=tmp_path / "cache")
    return LoggedExecutor(local, lambda text: text.replace("hunter2", "***"))


def test_a_log_begins_with_its_command(executor: Executor, tmp_path: Path) -> None:
    """As one could type it inside the build, with real paths; then comes what it printed."""
    done = executor.run(ECHO, log=tmp_path / "logs/a.log")

    assert (tmp_path / "logs/a.log").read_text(encoding="utf-8").splitlines() == [
        "cd /torchbuild",
        "env -i \\",
        "  CC=/torchbuild/venv/cc \\",
        "  /bin/echo /torchbuild/venv/bin/python 'two words'",
        "",
        "/torchbuild/venv/bin/python two words",
    ]
    assert done.tail == ("/torchbuild/venv/bin/python two words",)


def test_each_command_of_a_log_is_written_down(executor: Executor, tmp_path: Path) -> None:
    """A stage that runs several keeps one log, in order."""
    log = tmp_path / "a.log"
    for index, word in enumerate(("one", "two")):
        executor.run(Command(argv=("/bin/echo", word)), log=log, append=index > 0)

    lines = log.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if "/bin/echo" in line] == ["  /bin/echo one", "  /bin/echo two"]
    assert [line for line in lines if line in ("one", "two")] == ["one", "two"]
    assert not (tmp_path / "a.1.log").exists()


def test_the_log_of_the_run_before_is_kept(executor: Executor, tmp_path: Path) -> None:
    """A retry does not take away what the failed attempt said."""
    for word in ("failed", "again"):
        executor.run(Command(argv=("/bin/echo", word)), log=tmp_path / "a.log")

    assert (tmp_path / "a.log").read_text(encoding="utf-8").endswith("\nagain\n")
    assert (tmp_path / "a.1.log").read_text(encoding="utf-8").endswith("\nfailed\n")


def test_the_command_of_a_log_holds_no_secret(executor: Executor, tmp_path: Path) -> None:
    """A variable that holds one is written down without it."""
    executor.run(Command(argv=("/bin/true",), environ=(("TOKEN", "hunter2"),)), log=tmp_path / "a.log")

    assert "TOKEN=***" in (tmp_path / "a.log").read_text(encoding="utf-8")


def test_a_report_is_found_behind_the_command(executor: Executor, tmp_path: Path) -> None:
    """What a program prints for us can still be read."""
    text = json.dumps({"findings": [{"a": {}}]}, indent=1)
    executor.run(Command(argv=("/bin/echo", text), environ=(("A", "\n{\n"),)), log=tmp_path / "a.log")

    assert printed_document((tmp_path / "a.log").read_text(encoding="utf-8")) == {"findings": [{"a": {}}]}


def test_lines_are_those_of_the_command_alone(executor: Executor, tmp_path: Path) -> None:
    """Whoever follows the output does not hear the header."""
    heard: list[str] = []

    executor.run(Command(argv=("/bin/echo", "x")), log=tmp_path / "a.log", on_line=heard.append)

    assert heard == ["x"]


def test_a_log_that_cannot_be_written_is_told(executor: Executor, tmp_path: Path) -> None:
    """Before anything is run."""
    (tmp_path / "a.log").mkdir()

    with pytest.raises(HostError):
        executor.run(ECHO, log=tmp_path / "a.log")
