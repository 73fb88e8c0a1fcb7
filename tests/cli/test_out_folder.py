"""Where a wheel will be laid."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.out_folder import check_out
from torchbuild.errors import UsageError


@pytest.mark.parametrize("out", ["", "dist", "a/b/c", "link"])
def test_a_folder_that_is_there_or_can_be_made_is_good(tmp_path: Path, out: str) -> None:
    """And nothing is made of it yet: a build that fails leaves no empty folders."""
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    before = sorted(tmp_path.rglob("*"))

    check_out(tmp_path / out)

    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("out", ["file", "file/dist", "broken", "/dev/null", "/proc/self/status/x"])
def test_what_is_no_folder_is_refused(tmp_path: Path, out: str) -> None:
    """Whether it is the last part of the path or one above it."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "broken").symlink_to("nowhere")

    with pytest.raises(UsageError) as caught:
        check_out(tmp_path / out)

    assert caught.value.reference == "out-not-writable"
    assert "no folder" in caught.value.why[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may write anywhere")
def test_a_folder_of_somebody_elses_is_refused(tmp_path: Path) -> None:
    """Where nothing can be made, nothing is begun."""
    (tmp_path / "theirs").mkdir(mode=0o555)

    with pytest.raises(UsageError) as caught:
        check_out(tmp_path / "theirs" / "dist")

    assert "no right to write" in caught.value.why[0]


def test_it_is_refused_before_anything_is_done(desk: Any) -> None:
    """No lock is made and no stage runs for a wheel that has no place."""
    desk.lock()
    (desk.folder / "wheel.whl").write_text("", encoding="utf-8")

    ended = desk.run("build", "tiny.toml", "--out", "wheel.whl", "--json")

    assert (ended.code, ended.json["error"]["reference"]) == (2, "out-not-writable")
    assert not desk.places.builds.exists()


def test_who_wants_no_wheel_is_not_asked_for_a_place(desk: Any) -> None:
    """A slice that ends before publish lays nothing anywhere."""
    (desk.folder / "dist").write_text("", encoding="utf-8")

    ended = desk.run("build", "tiny.toml", "--locked", "--until", "fetch", "--json")

    assert ended.json["error"]["reference"] == "lock-missing"
