"""Files of the runs before."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.edges.previous import MOST_KEPT, set_aside
from torchbuild.errors import HostError


def kept(folder: Path) -> dict[str, str]:
    """What lies there."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def run(path: Path, text: str) -> None:
    """One run that leaves its file."""
    set_aside(path)
    path.write_text(text, encoding="utf-8")


def test_a_retry_keeps_what_the_failed_run_said(tmp_path: Path) -> None:
    """The last one has the plain name, the one before the number 1."""
    for text in ("first", "second", "third"):
        run(tmp_path / "compile.log", text)

    assert kept(tmp_path) == {"compile.log": "third", "compile.1.log": "second", "compile.2.log": "first"}


def test_the_number_of_kept_files_is_bounded(tmp_path: Path) -> None:
    """The oldest goes: retries do not fill a disk."""
    for number in range(20):
        run(tmp_path / "report.json", str(number))

    assert len(kept(tmp_path)) == 1 + MOST_KEPT
    assert kept(tmp_path)[f"report.{MOST_KEPT}.json"] == str(19 - MOST_KEPT)


def test_a_gap_is_no_loss(tmp_path: Path) -> None:
    """Somebody removed one of them: the others keep their order."""
    for text in ("first", "second", "third"):
        run(tmp_path / "a.log", text)
    (tmp_path / "a.1.log").unlink()

    run(tmp_path / "a.log", "fourth")

    assert kept(tmp_path) == {"a.log": "fourth", "a.1.log": "third", "a.3.log": "first"}


def test_what_is_no_file_stays(tmp_path: Path) -> None:
    """A directory in the way is told by whoever wants to write there."""
    (tmp_path / "report.json").mkdir()

    set_aside(tmp_path / "report.json")
    set_aside(tmp_path / "missing.log")

    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_folder_that_refuses_is_told(tmp_path: Path) -> None:
    """As the machine's owner's to mend, with the file's name."""
    (tmp_path / "a.log").write_text("x", encoding="utf-8")
    (tmp_path / "a.1.log").mkdir()

    with pytest.raises(HostError) as caught:
        set_aside(tmp_path / "a.log")

    assert "a.log" in caught.value.what
