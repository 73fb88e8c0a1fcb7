"""What is kept on the disk can be seen and removed, but not under a running build."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torchbuild.edges.atomic import TEMP_PREFIX
from torchbuild.edges.housekeeping import clean, sizes, tree_bytes, workspaces
from torchbuild.edges.live_locks import register
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65534


def names(directory: Path) -> list[str]:
    """What lies there."""
    return sorted(path.name for path in directory.iterdir())


def build(builds: Path, run: str, recipe: str = "demo") -> Path:
    """A finished build that left a megabyte."""
    with open_workspace(builds, run, store=builds, cache=builds, recipe=recipe) as workspace:
        (workspace.root / "object.o").write_bytes(os.urandom(1 << 20))
    return workspace.path


@pytest.fixture
def builds(tmp_path: Path) -> Path:
    """Two finished builds."""
    build(tmp_path / "builds", "run1")
    build(tmp_path / "builds", "run2", "other")
    return tmp_path / "builds"


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    """A store with two files."""
    store = DirectoryStore(tmp_path / "store")
    for content in (b"one", b"two"):
        (tmp_path / "source").write_bytes(content)
        store.add(tmp_path / "source", hashlib.sha256(content).hexdigest())
    return store


@pytest.fixture
def plain_user() -> Iterator[Path]:
    """A directory of a user without privileges, who the test is from here on."""
    with tempfile.TemporaryDirectory() as name:
        was = os.geteuid()
        if was == 0:
            os.chown(name, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Path(name)
        finally:
            os.seteuid(was)


def test_workspaces_are_listed(builds: Path) -> None:
    """Each run with its recipe, what it takes, when it was used and whether a build holds it."""
    with open_workspace(builds, "run2", store=builds, cache=builds):
        listed = workspaces(builds)
    assert [(use.run, use.recipe, use.is_busy) for use in listed] == [
        ("run1", "demo", False),
        ("run2", "other", True),
    ]
    assert all(1 << 20 <= use.size < 2 << 20 for use in listed)
    assert all(use.last_used == (use.path / "about.json").stat().st_mtime for use in listed)


def test_other_directories_are_no_workspaces(builds: Path, tmp_path: Path) -> None:
    """Only what a build made is listed, and so only that can be removed."""
    (builds / "mine").mkdir()
    (builds / "notes.txt").touch()
    (builds / "link").symlink_to(builds / "run1")
    assert [use.run for use in workspaces(builds)] == ["run1", "run2"]
    assert workspaces(tmp_path / "none") == ()


def test_sizes_are_of_all_that_is_kept(builds: Path, store: DirectoryStore, tmp_path: Path) -> None:
    """Workspaces, store and caches in one answer; a cache that is not there takes nothing."""
    (tmp_path / "ccache").mkdir()
    (tmp_path / "ccache/file").write_bytes(os.urandom(1 << 16))
    seen = sizes(builds, store, [tmp_path / "ccache", tmp_path / "none"])
    assert [use.run for use in seen.workspaces] == ["run1", "run2"]
    assert [entry.size for entry in seen.store] == [3, 3]
    assert seen.caches[0][1] >= 1 << 16
    assert seen.caches[1] == (tmp_path / "none", 0)


def test_bytes_are_counted_once(tmp_path: Path) -> None:
    """A file with two names takes its room once, and a link's target is not the link."""
    (tmp_path / "large").write_bytes(os.urandom(1 << 20))
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "one").write_bytes(os.urandom(1 << 20))
    (tree / "two").hardlink_to(tree / "one")
    (tree / "link").symlink_to(tmp_path / "large")
    assert 1 << 20 <= tree_bytes(tree) < 3 << 19


def test_all_builds_are_removed(builds: Path, store: DirectoryStore) -> None:
    """Every workspace goes and its bytes are told; the store stays unless asked for."""
    cleaned = clean(builds)
    assert [item.path.name for item in cleaned.removed] == ["run1", "run2"]
    assert cleaned.size >= 2 << 20
    assert names(builds) == []
    assert len(store.entries()) == 2


def test_named_builds_are_removed(builds: Path) -> None:
    """Only the named run goes."""
    assert [item.path.name for item in clean(builds, runs=["run1"]).removed] == ["run1"]
    assert names(builds) == ["run2"]


@pytest.mark.parametrize("run", ["none", "../store", "mine", "", "."])
def test_what_is_no_workspace_is_never_removed(builds: Path, store: DirectoryStore, run: str) -> None:
    """A name that is no workspace is said to be none, wherever it points."""
    (builds / "mine").mkdir()
    cleaned = clean(builds, runs=[run])
    assert (len(cleaned.removed), len(cleaned.skipped)) == (0, 1)
    assert "no workspace" in cleaned.skipped[0].why
    assert names(builds) == ["mine", "run1", "run2"]
    assert len(store.entries()) == 2


def test_busy_workspace_is_left_alone(builds: Path) -> None:
    """What a build holds stays whole, is named, and does not stop the rest."""
    with open_workspace(builds, "run1", store=builds, cache=builds) as workspace:
        cleaned = clean(builds)
        assert (workspace.root / "object.o").is_file()
    assert [item.path.name for item in cleaned.removed] == ["run2"]
    assert [(item.path.name, "another build" in item.why) for item in cleaned.skipped] == [("run1", True)]


def test_store_and_caches_are_removed(builds: Path, store: DirectoryStore, tmp_path: Path) -> None:
    """Files of the store go, half-written ones too, and caches go whole."""
    one, two = (hashlib.sha256(content).hexdigest() for content in (b"one", b"two"))
    left = store.root() / "sha256" / one[:2] / f"{TEMP_PREFIX}x"
    left.touch()
    os.utime(left, (0, 0))
    (tmp_path / "ccache").mkdir()
    cleaned = clean(builds, runs=(), store=store, caches=[tmp_path / "ccache", tmp_path / "none"])
    assert {item.path for item in cleaned.removed} == {
        left,
        store.root() / "sha256" / one[:2] / one,
        store.root() / "sha256" / two[:2] / two,
        tmp_path / "ccache",
    }
    assert store.entries() == ()
    assert not (tmp_path / "ccache").exists()
    assert names(builds) == ["run1", "run2"]


def test_store_stays_while_a_build_runs(builds: Path, store: DirectoryStore, tmp_path: Path) -> None:
    """A running build reads the store and the caches; they stay, and it is said why."""
    (tmp_path / "ccache").mkdir()
    with open_workspace(builds, "run1", store=builds, cache=builds):
        cleaned = clean(builds, runs=(), store=store, caches=[tmp_path / "ccache"])
    assert (cleaned.removed, len(cleaned.skipped)) == ((), 3)
    assert len(store.entries()) == 2


def test_links_are_removed_not_followed(builds: Path, tmp_path: Path) -> None:
    """A link in a workspace never costs what it points at."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    (builds / "run1/root/link").symlink_to(tmp_path / "precious")
    clean(builds)
    assert (tmp_path / "precious/file").is_file()


def test_read_only_trees_are_removed(plain_user: Path) -> None:
    """A module cache that made itself read-only goes like everything else."""
    path = build(plain_user / "builds", "run1")
    deep = path / "root/mod/cache"
    deep.mkdir(parents=True)
    (deep / "file").touch(mode=0o400)
    deep.chmod(0o500)
    deep.parent.chmod(0o500)
    assert [item.path for item in clean(plain_user / "builds").removed] == [path]
    assert names(plain_user / "builds") == []


def test_what_cannot_be_removed_is_said(plain_user: Path) -> None:
    """Where this user has no right, the workspace stays whole and the reason is told."""
    path = build(plain_user / "builds", "run1")
    (plain_user / "builds").chmod(0o500)
    cleaned = clean(plain_user / "builds")
    assert [item.path for item in cleaned.skipped] == [path]
    assert (path / "root/object.o").is_file()
    (plain_user / "builds").chmod(0o700)


def test_killed_removal_is_finished(builds: Path) -> None:
    """What an interrupted removal left is no workspace and goes with the next one."""
    left = builds / f"{TEMP_PREFIX}x"
    (builds / "run1").rename(left)
    os.utime(left, (0, 0))
    assert [use.run for use in workspaces(builds)] == ["run2"]
    assert [item.path for item in clean(builds, runs=()).removed] == [left]


def test_unpacked_images_are_known_and_brought_ones_stay(builds: Path, tmp_path: Path) -> None:
    """What we unpacked is listed and can be removed, its notes too; an image as a file is whoever's it is."""
    roots = tmp_path / "roots"
    ours = roots / ("a" * 64)
    (ours / "etc").mkdir(parents=True)
    (ours / "etc" / "file").write_bytes(os.urandom(1 << 16))
    theirs = [roots / "builder.tar", roots / f"{'b' * 64}.tar", roots / "mine"]
    theirs[0].touch()
    theirs[1].touch()
    theirs[2].mkdir()
    for suffix in ("json", "lock"):
        ours.with_name(f"{ours.name}.{suffix}").touch()

    ((path, size),) = sizes(builds, DirectoryStore(tmp_path / "none"), roots=roots).images
    cleaned = clean(builds, runs=[], roots=roots)

    assert (path, size >= 1 << 16) == (ours, True)
    assert [item.size >= 1 << 16 for item in cleaned.removed] == [True]
    assert sorted(roots.iterdir()) == sorted(theirs)


def test_what_a_build_of_another_builds_folder_reads_stays(
    builds: Path, store: DirectoryStore, tmp_path: Path
) -> None:
    """One cache, several users: while any of them builds, the cache is not pulled away."""
    live = tmp_path / "live"
    with open_workspace(tmp_path / "others", "run9", store=builds, cache=builds) as workspace:
        register(live, workspace.path, "")
        during = clean(builds, runs=[], store=store, live=live)
    after = clean(builds, runs=[], store=store, live=live)

    assert {item.why for item in during.skipped} == {"a build runs and may read it"}
    assert (len(during.removed), len(after.removed)) == (0, 2)


@pytest.mark.parametrize("last", ["unlink", "rename"])
def test_no_note_of_an_image_outlives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    """A removal may be killed at any step: what stays is whole, and the next removal finds all of it."""
    root = tmp_path / "roots" / ("a" * 64)
    note = root.with_name(f"{root.name}.json")
    (root / "etc").mkdir(parents=True)
    note.write_text("{}", encoding="utf-8")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, last, killed)
    with pytest.raises(KeyboardInterrupt):
        clean(tmp_path / "builds", runs=[], roots=root.parent)
    monkeypatch.undo()

    assert (root / "etc").is_dir()
    clean(tmp_path / "builds", runs=[], roots=root.parent)
    assert list(root.parent.iterdir()) == []
