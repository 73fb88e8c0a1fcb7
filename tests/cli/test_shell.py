"""`torchbuild shell`."""

from __future__ import annotations

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


@pytest.mark.parametrize("argv", [[], ["ls", "--json"], ["--", "ls"]], ids=str)
def test_a_run_that_is_not_there_is_said(
    machine: Path, argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell is opened where a build was, and nowhere else."""
    assert run_main(["shell", "small-0123456789", *argv]) == 2

    said = capsys.readouterr()
    assert "run-unknown" in said.err + said.out


@pytest.mark.parametrize("run", ["../../etc", "/etc", "", "a\0b", "."], ids=repr)
def test_a_name_that_is_a_path_leads_nowhere(
    machine: Path, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of a run is not a way to other directories."""
    assert run_main(["shell", run]) == 2

    assert "error[run-unknown]" in capsys.readouterr().err
