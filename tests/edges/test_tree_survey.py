"""What nobody sees in a tree: ways out of it, and files that are not there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from torchbuild.edges.tree_survey import lfs_pointers, outside_repositories

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"


def git(*argv: str, cwd: Path) -> None:
    """Run git as nobody in particular."""
    who = ["-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *argv], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit, beside which trees lie."""
    path = tmp_path / "repository"
    path.mkdir()
    git("init", "--quiet", cwd=path)
    git("commit", "--quiet", "--allow-empty", "--message=x", cwd=path)
    return path


def test_a_clone_with_its_submodules_needs_nothing_outside(repository: Path, tmp_path: Path) -> None:
    """Their .git files lead back into the tree."""
    git("clone", "--quiet", str(repository), str(tmp_path / "tree"), cwd=tmp_path)
    git("submodule", "add", "--quiet", str(repository), "third_party/sub", cwd=tmp_path / "tree")

    assert (tmp_path / "tree/third_party/sub/.git").is_file()
    assert outside_repositories(tmp_path / "tree") == ()


def test_a_work_tree_of_another_repository_is_found(repository: Path, tmp_path: Path) -> None:
    """Its .git file names a place on the machine that made it."""
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree/here"), cwd=repository)

    assert outside_repositories(tmp_path / "tree") == ("here/.git",)


def test_borrowed_objects_are_found(repository: Path, tmp_path: Path) -> None:
    """A clone that shares another one's objects is half a repository."""
    git("clone", "--quiet", "--shared", str(repository), str(tmp_path / "tree"), cwd=tmp_path)

    assert outside_repositories(tmp_path / "tree") == (".git/objects/info/alternates",)


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("gitdir: ../.git/modules/a\n", False),
        ("gitdir: ../../elsewhere\n", True),
        ("gitdir: /etc\n", True),
        ("gitdir: ../link/x\n", True),
        ("", False),
        ("\xff\0", True),
    ],
)
def test_a_git_file_may_lead_anywhere(tmp_path: Path, text: str, leads: bool) -> None:
    """What it says is followed as git would, through links as well."""
    sub = tmp_path / "tree/sub"
    sub.mkdir(parents=True)
    (tmp_path / "tree/link").symlink_to(tmp_path)
    (sub / ".git").write_bytes(text.encode("latin-1"))

    assert outside_repositories(tmp_path / "tree") == (("sub/.git",) if leads else ())


def test_a_link_for_a_repository_is_followed(tmp_path: Path) -> None:
    """Inside it may stay, outside it may not."""
    (tmp_path / "tree/a/real").mkdir(parents=True)
    (tmp_path / "tree/b").mkdir()
    (tmp_path / "tree/a/.git").symlink_to("real")
    (tmp_path / "tree/b/.git").symlink_to(tmp_path)

    assert outside_repositories(tmp_path / "tree") == ("b/.git",)


def test_pointers_are_told_from_files_that_speak_of_them(tmp_path: Path) -> None:
    """By their first line and their size, as git-lfs does; repositories' own files do not count."""
    for name, text in {
        "data/model.bin": POINTER,
        "docs/lfs.md": "An example:\n" + POINTER,
        "long.txt": POINTER + "x" * 1000,
        ".git/objects/x": POINTER,
        "empty": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "link.bin").symlink_to("data/model.bin")

    assert lfs_pointers(tmp_path) == ("data/model.bin",)
