"""A machine of its own for each test of a command."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty machine: no builds, no cache, no configuration; the current directory is empty as well."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TORCHBUILD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHBUILD_BUILDS", str(tmp_path / "builds"))
    return tmp_path


@pytest.fixture
def recipe(machine: Path) -> Path:
    """A recipe that is right, and has no lock."""
    path = machine / "here" / "small.toml"
    path.write_text(
        'schema = 1\nname = "small"\n'
        '[source]\ngit = "https://git.example/small.git"\nref = "v1"\n'
        '[wheel]\npackage = "small"\nversion = "1.0"\n'
    )
    return path
