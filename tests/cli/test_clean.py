"""`torchbuild clean`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchbuild.cli.main import run_main


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, folder in (("TORCHBUILD_CACHE", "cache"), ("TORCHBUILD_BUILDS", "builds"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


def test_nothing_is_removed_by_default(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A workspace may hold the only copy of a failed build: one must say what may go."""
    assert run_main(["clean"]) == 2

    assert "error[clean-what]" in capsys.readouterr().err


def test_a_run_that_is_not_there_is_not_taken_for_removed(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt run is an error."""
    assert run_main(["clean", "small-0123456789"]) == 2

    assert "error[run-unknown]" in capsys.readouterr().err


def test_an_empty_machine_is_clean(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To clean twice is no error."""
    assert run_main(["clean", "--builds", "--cache", "--json"]) == 0

    value = json.loads(capsys.readouterr().out)
    assert (value["bytes"], value["kept"]) == (0, [])
