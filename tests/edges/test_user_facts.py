"""The folder of a user's own facts: read where there is one, and never half."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchbuild.edges.user_facts import user_facts_texts
from torchbuild.errors import HostError, UsageError


def test_without_a_folder_there_are_no_facts(tmp_path: Path) -> None:
    """Who never made one hears nothing."""
    assert user_facts_texts(tmp_path / "none", must_exist=False) == {}


def test_a_folder_that_somebody_named_must_be_there(tmp_path: Path) -> None:
    """A mount that is missing would change the answers without a word."""
    (tmp_path / "file").write_text("")
    for name in ("none", "file"):
        with pytest.raises(UsageError) as caught:
            user_facts_texts(tmp_path / name, must_exist=True)
        assert caught.value.reference == "facts-folder-missing"


def test_each_toml_file_is_read_by_its_name(tmp_path: Path) -> None:
    """Links are followed; what an editor or a person left beside them is not looked at."""
    (tmp_path / "gpus.toml").write_text("# ä\n", encoding="utf-8")
    (tmp_path / "there").write_text("a = 1\n")
    (tmp_path / "cuda.toml").symlink_to("there")
    for name in ("gpus.toml~", ".#gpus.toml", ".gpus.toml", "README.md"):
        (tmp_path / name).write_text("not TOML")

    assert user_facts_texts(tmp_path, must_exist=False) == {"cuda": "a = 1\n", "gpus": "# ä\n"}


def test_bytes_that_are_no_text_arrive_as_such(tmp_path: Path) -> None:
    """They are told with the other problems of the file, not as a failure of this program."""
    (tmp_path / "gpus.toml").write_bytes(b"\xff")

    assert user_facts_texts(tmp_path, must_exist=False) == {"gpus": "\udcff"}


@pytest.mark.parametrize("kind", ["pipe", "folder", "dangling"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    """A pipe would wait for ever; a link to nothing is a fact that somebody misses."""
    path = tmp_path / "gpus.toml"
    {"pipe": lambda: os.mkfifo(path), "folder": path.mkdir, "dangling": lambda: path.symlink_to("gone")}[
        kind
    ]()

    with pytest.raises(HostError) as caught:
        user_facts_texts(tmp_path, must_exist=False)

    assert caught.value.reference == "facts-unreadable"
