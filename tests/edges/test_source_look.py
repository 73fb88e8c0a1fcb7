"""A quick look at real directories."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from torchbuild.edges.source_look import look_at_source
from torchbuild.model.source_tree import SourceTree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree that has all it needs."""
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    return tmp_path


def look(folder: Path) -> SourceTree:
    """What is there now."""
    return look_at_source(folder, "tree", time.time())


def test_a_sound_tree_has_nothing_to_tell(tree: Path) -> None:
    """Nothing is wrong, and nothing is changed."""
    before = sorted(tree.rglob("*"))

    assert look(tree) == SourceTree(path="tree")
    assert sorted(tree.rglob("*")) == before


def test_what_is_no_directory_is_said(tree: Path) -> None:
    """A file and nothing at all."""
    assert not look(tree / "setup.py").exists
    assert not look(tree / "nowhere").exists


def test_what_cannot_be_looked_at_is_no_crash(tree: Path) -> None:
    """As another user's folder: a name that no file system takes raises the same kind of error."""
    (tree / ".gitmodules").write_text(f'[submodule "a"]\n\tpath = {"x" * 300}\n')

    assert not look(tree / ("x" * 300)).exists
    assert look(tree).empty_submodules == ("x" * 300,)


def test_a_git_file_that_leads_nowhere_is_found(tree: Path) -> None:
    """As a submodule of another repository has, once it is copied out of it."""
    (tree / ".git").write_text("gitdir: ../.git/modules/pytorch\n")

    assert look(tree).git == "dangling"

    (tree / ".git").write_text(f"gitdir: {tree}\n")
    assert look(tree).git == "file"


def test_empty_submodules_are_named(tree: Path) -> None:
    """Also those whose folder is missing; none outside of the tree is looked for."""
    (tree / ".gitmodules").write_text(
        '[submodule "a"]\n\tpath = third_party/a\n[submodule "b"]\n\tpath = third_party/b\n'
        '[submodule "c"]\n\tpath = ../outside\n'
    )
    (tree / "third_party" / "a").mkdir(parents=True)

    assert look(tree).empty_submodules == ("third_party/a", "third_party/b")

    (tree / "third_party" / "a" / "file").write_text("")
    assert look(tree).empty_submodules == ("third_party/b",)


def test_an_earlier_build_s_cache_is_found_with_what_it_says(tree: Path) -> None:
    """What counts before a recipe: USE_CUDA=OFF, an interpreter."""
    (tree / "build").mkdir()
    (tree / "build" / "CMakeCache.txt").write_text(
        "USE_CUDA:BOOL=OFF\nPYTHON_EXECUTABLE:FILEPATH=/old/python\n"
    )

    seen = look(tree)

    assert seen.cache == "build/CMakeCache.txt"
    assert seen.cache_says == {"USE_CUDA": "OFF", "PYTHON_EXECUTABLE": "/old/python"}


def test_rights_that_were_lost_are_noticed(tree: Path) -> None:
    """Where no script at all can be started; some scripts never could."""
    (tree / "other.sh").write_text("#!/bin/sh\n")
    assert look(tree).not_executable == ()

    (tree / "run.sh").chmod(0o644)
    assert look(tree).not_executable == ("other.sh", "run.sh")


def test_files_of_the_future_are_named(tree: Path) -> None:
    """Ninja would begin again and again."""
    later = time.time() + 3600
    os.utime(tree / "setup.py", (later, later))

    assert look(tree).future == ("setup.py",)


def test_bytes_that_are_no_text_do_no_harm(tree: Path) -> None:
    """A tree is somebody else's."""
    (tree / ".gitmodules").write_bytes(b"\xff\xfe path = \x00")
    (tree / ".git").write_bytes(b"\xff")
    (tree / "CMakeCache.txt").write_bytes(b"USE_CUDA:BOOL=\xff\n")

    assert look(tree).git == "dangling"
