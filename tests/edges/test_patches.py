"""A patch applies wholly or not at all, wherever the tree lies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.errors import StageError

PATCH = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{old}\n+patched\n"


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    """Fits a tree whose a.txt says one."""
    path = tmp_path / "fix-it.patch"
    path.write_text(PATCH.format(old="one"))
    return path


@pytest.fixture
def drifted(tree: Path, tmp_path: Path) -> Path:
    """A patch whose context differs from the tree in one line."""
    (tree / "long.txt").write_text("".join(f"line {number}\n" for number in range(9)))
    path = tmp_path / "drifted.patch"
    path.write_text(
        "--- a/long.txt\n+++ b/long.txt\n@@ -2,7 +2,7 @@\n other 1\n line 2\n line 3\n-line 4\n+new 4\n line 5\n line 6\n line 7\n"
    )
    return path


def test_a_patch_applies_inside_a_checkout(edge: GitEdge, tree: Path, patch: Path) -> None:
    """A tree with its own .git is patched."""
    edge.apply_patch(tree, patch)
    assert (tree / "a.txt").read_text() == "patched\n"


def test_a_patch_applies_without_git(edge: GitEdge, tmp_path: Path, patch: Path) -> None:
    """A tree from an archive is patched."""
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.txt").write_text("one\n")
    edge.apply_patch(plain, patch)
    assert (plain / "a.txt").read_text() == "patched\n"


def test_a_patch_applies_below_another_repository(edge: GitEdge, tree: Path, patch: Path) -> None:
    """A tree that lies in somebody's repository is patched: git alone would skip it without a word."""
    plain = tree / "unpacked/project"
    plain.mkdir(parents=True)
    (plain / "a.txt").write_text("one\n")
    bare_git = subprocess.run(["git", "apply", str(patch)], cwd=plain, capture_output=True, check=False)
    assert (bare_git.returncode, (plain / "a.txt").read_text()) == (0, "one\n"), "git's trap is still there"
    edge.apply_patch(plain, patch)
    assert (plain / "a.txt").read_text() == "patched\n"


def test_a_skipped_patch_is_a_failure(edge: GitEdge, tree: Path, patch: Path) -> None:
    """Where the repository above cannot be hidden (a colon in its path), nothing counts as applied."""
    above = tree.rename(tree.parent / "so:urce")
    plain = above / "project"
    plain.mkdir()
    (plain / "a.txt").write_text("one\n")
    with pytest.raises(StageError) as caught:
        edge.apply_patch(plain, patch)
    assert caught.value.reference == "patch-does-not-apply"
    assert (plain / "a.txt").read_text() == "one\n"


def test_a_patch_that_does_not_fit_changes_nothing(edge: GitEdge, tree: Path, tmp_path: Path) -> None:
    """One hunk that fits and one that does not leave the tree as it was, with git's words and the patch's name."""
    bad = tmp_path / "bad.patch"
    bad.write_text(PATCH.format(old="one") + "--- a/dir/b.sh\n+++ b/dir/b.sh\n@@ -1 +1 @@\n-nope\n+x\n")
    with pytest.raises(StageError) as caught:
        edge.apply_patch(tree, bad)
    assert caught.value.reference == "patch-does-not-apply"
    assert "bad.patch" in caught.value.what
    assert any("patch failed: dir/b.sh" in line for line in caught.value.why)
    assert (tree / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("text", ["", "no patch at all\n"])
def test_a_patch_without_patches_is_a_failure(edge: GitEdge, tree: Path, tmp_path: Path, text: str) -> None:
    """An empty file, or one that holds no diff, is not counted as applied."""
    empty = tmp_path / "empty.patch"
    empty.write_text(text)
    with pytest.raises(StageError) as caught:
        edge.apply_patch(tree, empty)
    assert caught.value.reference == "patch-does-not-apply"


def test_a_patch_stays_inside_the_tree(edge: GitEdge, tree: Path, tmp_path: Path) -> None:
    """A patch that names a file above the tree is refused."""
    (tree.parent / "a.txt").write_text("one\n")
    escaping = tmp_path / "escape.patch"
    escaping.write_text("--- a/../a.txt\n+++ b/../a.txt\n@@ -1 +1 @@\n-one\n+patched\n")
    with pytest.raises(StageError):
        edge.apply_patch(tree, escaping)
    assert (tree.parent / "a.txt").read_text() == "one\n"


def test_a_patch_that_fits_only_loosely_is_refused(edge: GitEdge, tree: Path, drifted: Path) -> None:
    """Other lines around the change mean another file than the one that the patch was made for."""
    with pytest.raises(StageError):
        edge.apply_patch(tree, drifted)
    assert "new 4" not in (tree / "long.txt").read_text()
