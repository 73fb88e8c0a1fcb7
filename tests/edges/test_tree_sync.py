"""A kept tree takes over what changed, and only that: what ninja made of the rest stays good."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torchbuild.edges.tree_sync import bring_up, states_of

if TYPE_CHECKING:
    from torchbuild.edges.git import GitEdge

OLD = 1_000_000_000
Trees = tuple[Path, Path, Path]


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    """A new tree and a kept one with the same files, those of the kept one old; and a place for edits."""
    for top in ("new", "kept"):
        folder = tmp_path / top
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "one.cpp").write_text("1")
        (folder / "a" / "b" / "two.h").write_text("2")
        (folder / "run.sh").write_text("#!")
        (folder / "run.sh").chmod(0o755)
        (folder / "link").symlink_to("a/one.cpp")
    for path in (tmp_path / "kept").rglob("*"):
        os.utime(path, (OLD, OLD), follow_symlinks=False)
    return tmp_path / "new", tmp_path / "kept", tmp_path / "aside"


def times(tree: Path) -> dict[str, float]:
    """Times of all files and links."""
    return {name: (tree / name).lstat().st_mtime for name in states_of(tree)}


def git(tree: Path, *arguments: str) -> str:
    """What a person in the tree would see."""
    done = subprocess.run(["git", *arguments], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_equal_trees_leave_everything_as_it_is(trees: Trees) -> None:
    """Nothing changed: not one time moves."""
    new, kept, aside = trees

    synced = bring_up(new, kept, states_of(kept), states_of(new), aside)

    assert (synced.changed, synced.removed, synced.set_aside) == ((), (), ())
    assert set(times(kept).values()) == {OLD}


def test_what_differs_arrives_with_the_time_of_now(trees: Trees) -> None:
    """Another content, mode, link or kind, and what is new: each is there, newer than what was made of it."""
    new, kept, aside = trees
    before = states_of(kept)
    (new / "a" / "one.cpp").write_text("3")
    os.utime(new / "a" / "one.cpp", (OLD - 5, OLD - 5))
    (new / "run.sh").chmod(0o644)
    (new / "link").unlink()
    (new / "link").symlink_to("a/b/two.h")
    (new / "c").mkdir()
    (new / "c" / "new.cpp").write_text("new")
    (new / "a" / "b" / "two.h").unlink()
    (new / "a" / "b" / "two.h").mkdir()
    (new / "a" / "b" / "two.h" / "inner").write_text("x")

    synced = bring_up(new, kept, before, states_of(new), aside)

    assert synced.changed == ("a/b/two.h/inner", "a/one.cpp", "c/new.cpp", "link", "run.sh")
    assert all(time > OLD for time in times(kept).values())
    assert (kept / "a" / "one.cpp").read_text() == "3"
    assert (kept / "link").readlink() == Path("a/b/two.h")
    assert not aside.exists()


def test_what_a_build_made_stays_and_what_the_tree_lost_goes(trees: Trees) -> None:
    """Only files that the tree was laid with are removed; empty directories go with them."""
    new, kept, aside = trees
    before = states_of(kept)
    (kept / "build").mkdir()
    (kept / "build" / "one.o").write_text("object")
    (kept / "a" / "made.py").write_text("generated")
    (new / "a" / "b" / "two.h").unlink()
    (new / "a" / "one.cpp").unlink()

    synced = bring_up(new, kept, before, states_of(new), aside)

    assert synced.removed == ("a/b/two.h", "a/one.cpp")
    assert sorted(states_of(kept)) == ["a/made.py", "build/one.o", "link", "run.sh"]
    assert not (kept / "a" / "b").exists()


def test_an_edit_stays_while_the_tree_has_nothing_new_for_that_file(trees: Trees) -> None:
    """What a person changed, or took away, in the kept tree is theirs, however often the tree is brought up."""
    new, kept, aside = trees
    before = states_of(kept)
    (kept / "a" / "one.cpp").write_text("mine")
    (kept / "a" / "b" / "two.h").unlink()
    (new / "run.sh").write_text("#! new")

    synced = bring_up(new, kept, before, states_of(new), aside)

    assert (synced.changed, synced.set_aside) == (("run.sh",), ())
    assert (kept / "a" / "one.cpp").read_text() == "mine"
    assert not (kept / "a" / "b" / "two.h").exists()


def test_an_edit_that_must_give_way_is_set_aside(trees: Trees) -> None:
    """The new tree has another content, or no such file: the edit is not lost, and is named."""
    new, kept, aside = trees
    before = states_of(kept)
    (kept / "a" / "one.cpp").write_text("mine")
    (kept / "run.sh").write_text("mine too")
    (new / "a" / "one.cpp").write_text("theirs")
    (new / "run.sh").unlink()

    synced = bring_up(new, kept, before, states_of(new), aside)

    assert synced.set_aside == ("a/one.cpp", "run.sh")
    assert (kept / "a" / "one.cpp").read_text() == "theirs"
    assert (aside / "a" / "one.cpp").read_text() == "mine"
    assert (aside / "run.sh").read_text() == "mine too"


def test_what_git_notes_for_itself_is_no_edit(
    tree: Path, edge: GitEdge, upstream: Any, tmp_path: Path
) -> None:
    """Whoever asks git for the state of the kept tree has its index written: nobody edited that."""
    before, commit = states_of(tree), upstream.git("rev-parse", "main")
    new = tmp_path / "new"
    edge.check_out(edge.fetch_commit(str(upstream.path), commit), commit, new, str(upstream.path))
    (tree / "a.txt").touch()
    git(tree, "status")
    assert states_of(tree)[".git/index"] != before[".git/index"]

    synced = bring_up(new, tree, before, states_of(new), tmp_path / "aside")

    assert (synced.changed, synced.removed, synced.set_aside) == (("a.txt",), (), ())
    assert (git(tree, "rev-parse", "HEAD"), git(tree, "status", "--porcelain")) == (commit, "")


def test_a_persons_work_in_git_is_set_aside(tree: Path, edge: GitEdge, upstream: Any, tmp_path: Path) -> None:
    """A remote that somebody added gives way to the new tree's settings, and is not lost without a word."""
    before, commit = states_of(tree), upstream.git("rev-parse", "main")
    new, aside = tmp_path / "new", tmp_path / "aside"
    edge.check_out(edge.fetch_commit(str(upstream.path), commit), commit, new, "https://other.example/x.git")
    git(tree, "remote", "add", "mine", "https://mine.example/x.git")

    synced = bring_up(new, tree, before, states_of(new), aside)

    assert synced.set_aside == (".git/config",)
    assert "mine.example" in (aside / ".git" / "config").read_text()


def test_an_edit_that_the_tree_now_has_is_no_conflict(trees: Trees) -> None:
    """The same change arrived by another way: nothing moves."""
    new, kept, aside = trees
    before = states_of(kept)
    (kept / "a" / "one.cpp").write_text("fixed")
    os.utime(kept / "a" / "one.cpp", (OLD, OLD))
    (new / "a" / "one.cpp").write_text("fixed")

    assert bring_up(new, kept, before, states_of(new), aside).changed == ()
    assert set(times(kept).values()) == {OLD}


def test_links_never_lead_a_change_out_of_the_tree(trees: Trees, tmp_path: Path) -> None:
    """Where the kept tree has a link and the new one a directory, the link goes, and what it led to stays."""
    new, kept, aside = trees
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("mine")
    (kept / "d").symlink_to(outside)
    (new / "d").mkdir()
    (new / "d" / "file").write_text("in")

    bring_up(new, kept, {**states_of(kept), "d/x": "644 0", "never/was": "644 0"}, states_of(new), aside)

    assert [path.name for path in outside.iterdir()] == ["x"]
    assert (kept / "d" / "file").read_text() == "in"
    assert not (kept / "d").is_symlink()


def test_an_emptied_tree_is_still_a_tree(tmp_path: Path) -> None:
    """When all files go, the tree's own directory stays, and so does what is above it."""
    new, kept = tmp_path / "new", tmp_path / "kept"
    new.mkdir()
    (kept / "a").mkdir(parents=True)
    (kept / "a" / "x").write_text("")

    assert bring_up(new, kept, states_of(kept), states_of(new), tmp_path / "aside").removed == ("a/x",)
    assert list(kept.iterdir()) == []
