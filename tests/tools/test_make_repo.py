"""The repositories of the example are the same in every run, whatever the file system does."""

import importlib.util
import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/torchlet"


@pytest.fixture
def maker(tmp_path: Path) -> ModuleType:
    """The example's script beside a copy of its trees, as a clone of one instant would have them."""
    example = shutil.copytree(EXAMPLE, tmp_path / "torchlet", ignore=shutil.ignore_patterns("__pycache__"))
    for path in example.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    spec = importlib.util.spec_from_file_location("make_repo", example / "make_repo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_file_of_the_same_size_and_time_is_still_another_file(
    maker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reused inodes and equal seconds made one run in twenty commit the first era's version.txt."""
    begin = maker.start

    def start_with_nothing_but_size_and_seconds(repo: Path) -> None:
        begin(repo)
        maker.git(repo, "config", "core.checkStat", "minimal")
        maker.git(repo, "config", "core.trustctime", "false")

    monkeypatch.setattr(maker, "start", start_with_nothing_but_size_and_seconds)
    maker.make_repos(tmp_path / "made")
    repo = tmp_path / "made" / "torchlet"
    for tag, era in (("v1.0.0", "setup-py"), ("v2.0.0", "scikit-build-core")):
        committed = maker.git(repo, "show", f"{tag}:version.txt")
        assert committed == (EXAMPLE / "eras" / era / "version.txt").read_text(encoding="utf-8").strip()
