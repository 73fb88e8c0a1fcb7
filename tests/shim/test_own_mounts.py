"""A program with mounts of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from torchbuild.shim.own_mounts import REFUSED

SCRIPT = Path(__file__).parents[2] / "torchbuild" / "shim" / "own_mounts.py"


def _run(
    tmp_path: Path, mounts: dict[str, Any], *argv: str, **options: Any
) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "mounts.json"
    path.write_text(json.dumps({"covers": {}, "kept": [], "binds": {}} | mounts))
    command = [sys.executable, "-I", str(SCRIPT), str(path), *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **options)


@pytest.fixture(autouse=True)
def _can_mount(tmp_path: Path) -> None:
    if _run(tmp_path, {}, "true").returncode == REFUSED:
        pytest.skip("no mounts of one's own on this machine")


def _folder(path: Path, name: str) -> Path:
    path.mkdir(parents=True)
    (path / name).touch()
    return path


def test_a_cover_is_seen_by_the_program_alone(tmp_path: Path) -> None:
    """The program finds other files at the place; everybody else finds what was there."""
    place, cover = _folder(tmp_path / "place", "theirs"), _folder(tmp_path / "cover", "own")

    done = _run(
        tmp_path, {"covers": {str(place): str(cover)}}, "sh", "-c", f"ls '{place}'; touch '{place}/new'"
    )

    assert done.stdout == "own\n"
    assert sorted(path.name for path in cover.iterdir()) == ["new", "own"]
    assert [path.name for path in place.iterdir()] == ["theirs"]


def test_what_is_kept_stays_where_it_is(tmp_path: Path) -> None:
    """A folder below a covered place is still there, also where it holds the cover itself."""
    place = tmp_path / "place"
    kept = _folder(place / "kept", "file")
    cover = kept / "cover"
    cover.mkdir()

    done = _run(
        tmp_path,
        {"covers": {str(place): str(cover)}, "kept": [str(kept), str(cover)]},
        "ls",
        str(place),
        str(kept),
    )

    assert done.stdout.split() == [f"{place}:", "kept", f"{kept}:", "cover", "file"]


def test_a_bind_is_laid_last(tmp_path: Path) -> None:
    """A folder takes the place of another, also below a covered place."""
    place, kept = tmp_path / "place", tmp_path / "place" / "kept"
    target, other, cover = kept / "prefix", _folder(kept / "prefix.partial", "new"), tmp_path / "cover"
    for folder in (target, cover):
        folder.mkdir()
    mounts = {"covers": {str(place): str(cover)}, "kept": [str(kept)], "binds": {str(target): str(other)}}

    assert _run(tmp_path, mounts, "ls", str(target)).stdout == "new\n"


def test_the_program_takes_over(tmp_path: Path) -> None:
    """Exit code, output and user are those of the program."""
    done = _run(tmp_path, {}, "sh", "-c", "id -u; exit 7")

    assert (done.returncode, done.stdout) == (7, f"{os.geteuid()}\n")


@pytest.mark.parametrize(
    ("mounts", "program"), [({"binds": {"/nowhere": "/nothing"}}, "true"), ({}, "/nonexistent/program")]
)
def test_what_cannot_be_says_why(tmp_path: Path, mounts: dict[str, Any], program: str) -> None:
    """A mount or a program that is not there ends in one line and its own exit code."""
    done = _run(tmp_path, mounts, program)

    assert done.returncode == REFUSED
    assert "No such file or directory" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_an_ordinary_user_stays_itself() -> None:
    """Without root's rights a namespace of its own does: the same user, and mounts all the same."""
    python = next(item for item in ("/usr/bin/python3", sys.executable) if Path(item).exists())
    with TemporaryDirectory() as folder:  # pytest's own folders are root's alone
        Path(folder).chmod(0o755)
        path = Path(folder, "mounts.json")
        path.write_text(json.dumps({"covers": {}, "kept": [], "binds": {"/mnt": "/usr"}}))
        argv = [python, "-I", "-c", SCRIPT.read_text(), str(path), "sh", "-c", "id -u; ls /mnt | head -1"]

        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            user=65534,
            group=65534,
            extra_groups=[],
        )

    assert done.stdout.split() == ["65534", "bin"], done.stderr
