"""The next run can tell what a stage made from what became of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torchbuild.edges import manifest as manifests
from torchbuild.errors import HostError, StageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """What a stage made: a tree with a link, an executable and an empty directory, and one file."""
    tree = tmp_path / "root/tree"
    (tree / "sub/empty").mkdir(parents=True)
    (tree / "file").write_text("content")
    (tree / "sub/run").write_text("#!/bin/sh\n")
    (tree / "sub/run").chmod(0o755)
    (tree / "link").symlink_to("sub/run")
    (tmp_path / "root/wheel.whl").write_text("wheel")
    return tmp_path / "root"


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A tree deeper than Python's stack, which pytest itself could not remove."""
    top = tmp_path / "deep"
    place = top
    place.mkdir()
    for _ in range(1100):
        place /= "d"
        place.mkdir()
    (place / "file").touch()
    yield top
    subprocess.run(["rm", "-rf", top], check=True)


def rewrite(path: Path, text: str) -> None:
    """Other content of the same length, with all of the old metadata."""
    state = path.stat()
    assert state.st_size == len(text)
    path.write_text(text)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def changed(root: Path, manifest: manifests.Manifest, *, paranoid: bool = False) -> tuple[str, ...]:
    """The paths that are not what they were."""
    return tuple(path for path, _ in manifests.differences(root, manifest, paranoid=paranoid))


def test_untouched_is_intact(made: Path) -> None:
    """What nobody touched is intact, also for who trusts nothing."""
    manifest = manifests.take(made, ["tree", "wheel.whl"])
    assert changed(made, manifest) == ()
    assert changed(made, manifest, paranoid=True) == ()


def test_entries_are_all_that_was_made(made: Path) -> None:
    """Directories, files and links are there, once each, by path; files with their content."""
    manifest = manifests.take(made, ["wheel.whl", "tree", "tree/sub"])
    assert [(entry.path, entry.kind, bool(entry.sha256)) for entry in manifest.entries] == [
        ("tree", "directory", False),
        ("tree/file", "file", True),
        ("tree/link", "link", False),
        ("tree/sub", "directory", False),
        ("tree/sub/empty", "directory", False),
        ("tree/sub/run", "file", True),
        ("wheel.whl", "file", True),
    ]


CHANGES: dict[str, Callable[[Path], object]] = {
    "tree/file": lambda root: (root / "tree/file").write_text("changed"),
    "tree/sub/run": lambda root: (root / "tree/sub/run").chmod(0o644),
    "tree/sub/empty": lambda root: (root / "tree/sub/empty").rmdir(),
    "wheel.whl": lambda root: (root / "wheel.whl").unlink(),
}


@pytest.mark.parametrize(("path", "change"), CHANGES.items(), ids=CHANGES)
def test_change_is_named(made: Path, path: str, change: Callable[[Path], object]) -> None:
    """Content, mode, and what is gone: the path that differs is named, and no other."""
    manifest = manifests.take(made, ["tree", "wheel.whl"])
    change(made)
    assert changed(made, manifest) == (path,)


def test_link_elsewhere_is_named(made: Path) -> None:
    """A link that points elsewhere is another link."""
    manifest = manifests.take(made, ["tree"])
    (made / "tree/link").unlink()
    (made / "tree/link").symlink_to("file")
    assert changed(made, manifest) == ("tree/link",)


def test_file_for_directory_is_named(made: Path) -> None:
    """Where a directory became a file, it and all that was in it are gone."""
    manifest = manifests.take(made, ["tree"])
    shutil.rmtree(made / "tree/sub")
    (made / "tree/sub").touch()
    assert changed(made, manifest) == ("tree/sub", "tree/sub/empty", "tree/sub/run")


def test_touched_file_is_read_again(made: Path) -> None:
    """Other metadata mean another file, unless its content is the same."""
    manifest = manifests.take(made, ["tree"])
    os.utime(made / "tree/file", (1, 1))
    assert changed(made, manifest) == ()


def test_copy_is_intact_where_content_is_known(made: Path, tmp_path: Path) -> None:
    """A workspace that was copied is still good: its files are read once more."""
    manifest = manifests.take(made, ["tree", "wheel.whl"])
    shutil.copytree(made, tmp_path / "copy", symlinks=True)
    assert changed(tmp_path / "copy", manifest) == ()


def test_only_paranoia_sees_forged_metadata(made: Path) -> None:
    """A change that hides behind old metadata is found by who reads everything."""
    manifest = manifests.take(made, ["wheel.whl"])
    rewrite(made / "wheel.whl", "WHEEL")
    assert changed(made, manifest) == ()
    assert changed(made, manifest, paranoid=True) == ("wheel.whl",)


def test_what_came_later_does_not_count(made: Path) -> None:
    """A later stage may write beside what an earlier one made."""
    manifest = manifests.take(made, ["tree"])
    (made / "tree/sub/later").touch()
    assert changed(made, manifest) == ()


def test_names_left_out(made: Path) -> None:
    """What is named to be left out is, wherever it stands."""
    (made / "tree/sub/.git").mkdir()
    (made / "tree/sub/.git/index").touch()
    manifest = manifests.take(made, ["tree"], without=[".git"])
    assert not any(".git" in entry.path for entry in manifest.entries)


def test_made_path_that_is_missing_is_an_error(made: Path) -> None:
    """A stage cannot claim what is not there."""
    with pytest.raises(StageError) as caught:
        manifests.take(made, ["tree", "dist/none.whl"])
    assert caught.value.reference == "made-path-missing"
    assert "dist/none.whl" in caught.value.what


def test_manifest_survives_json(made: Path) -> None:
    """What is written is what is read, also with names that are not UTF-8."""
    (made / "tree" / os.fsdecode(b"caf\xe9")).touch()
    manifest = manifests.take(made, ["tree", "wheel.whl"])
    text = json.dumps(manifests.dump(manifest))
    assert text.isascii()
    assert manifests.load(json.loads(text)) == manifest


@pytest.mark.parametrize(
    "rows", [[["a"]], [[1, "file", 0, 0, 0, 0, "", ""]], [["a", "file", True, 0, 0, 0, "", ""]]]
)
def test_other_rows_are_no_manifest(rows: list[list[object]]) -> None:
    """A damaged manifest is an error, not an empty one."""
    with pytest.raises(ValueError, match="no entry"):
        manifests.load(rows)


def test_digest_is_of_content_not_of_place_or_time(made: Path, tmp_path: Path) -> None:
    """The same tree elsewhere, of another time and with another umask's modes, has the same digest."""
    shutil.copytree(made, tmp_path / "copy", symlinks=True)
    for path in (tmp_path / "copy").rglob("*"):
        if not path.is_symlink():
            os.utime(path, (1, 1))
            path.chmod(0o700 if os.access(path, os.X_OK) and path.stat().st_mode & 0o100 else 0o600)
    assert manifests.tree_digest(made) == manifests.tree_digest(tmp_path / "copy")


def test_digest_is_stable(tmp_path: Path) -> None:
    """The digest of one small tree is the same on every machine and in every version."""
    (tmp_path / "t/d").mkdir(parents=True)
    (tmp_path / "t/d/f").write_text("x")
    content = hashlib.sha256(b"x").hexdigest().encode()
    rows = b"0:9:directory0:0:" + b"1:d9:directory0:0:" + b"3:d/f4:file0:64:" + content
    assert manifests.tree_digest(tmp_path / "t") == hashlib.sha256(rows).hexdigest()


OTHERS: dict[str, Callable[[Path], object]] = {
    "content": lambda tree: (tree / "file").write_text("changed"),
    "exec bit": lambda tree: (tree / "sub/run").chmod(0o644),
    "name": lambda tree: (tree / "file").rename(tree / "file2"),
    "place": lambda tree: (tree / "file").rename(tree / "sub/file"),
    "new file": lambda tree: (tree / "new").touch(),
    "new directory": lambda tree: (tree / "new").mkdir(),
    "link target": lambda tree: ((tree / "link").unlink(), (tree / "link").symlink_to("file")),
    "link to copy": lambda tree: ((tree / "link").unlink(), shutil.copy2(tree / "sub/run", tree / "link")),
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_digest_tells_trees_apart(made: Path, change: Callable[[Path], object]) -> None:
    """Whatever a build could see changes the digest."""
    before = manifests.tree_digest(made / "tree")
    change(made / "tree")
    assert manifests.tree_digest(made / "tree") != before


def test_digest_leaves_names_out(made: Path) -> None:
    """A checkout and its export have one digest where .git is left out."""
    before = manifests.tree_digest(made)
    (made / "tree/.git").write_text("gitdir: elsewhere")
    assert manifests.tree_digest(made) != before
    assert manifests.tree_digest(made, without=[".git"]) == before


def test_digest_refuses_special_files(made: Path) -> None:
    """A pipe has no content; it is named."""
    os.mkfifo(made / "tree/pipe")
    with pytest.raises(StageError) as caught:
        manifests.tree_digest(made)
    assert caught.value.reference == "special-file-in-tree"
    assert str(made / "tree/pipe") in caught.value.what


def test_digest_of_nothing_is_refused(tmp_path: Path) -> None:
    """A path that is not there has no digest."""
    with pytest.raises(HostError) as caught:
        manifests.tree_digest(tmp_path / "none")
    assert caught.value.reference == "file-missing"


def test_deep_trees_are_walked(deep: Path) -> None:
    """A tree deeper than Python's stack is a tree like any other."""
    assert len(manifests.take(deep.parent, ["deep"]).entries) == 1102
    assert len(manifests.tree_digest(deep)) == 64


def test_each_difference_is_told_with_its_path(tmp_path: Path) -> None:
    """Whoever asks why a stage runs again reads what became of which file."""
    for name in ("gone", "grown", "same-size", "mode", "kind", "intact"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("one")
    before = manifests.take(tmp_path, [path.name for path in tmp_path.iterdir()])
    (tmp_path / "gone").unlink()
    (tmp_path / "grown").write_text("grown up")
    (tmp_path / "same-size").write_text("same+size")
    (tmp_path / "mode").chmod(0o600)
    (tmp_path / "kind").unlink()
    (tmp_path / "kind").mkdir(mode=0o755)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("two")

    assert dict(manifests.differences(tmp_path, before)) == {
        "gone": "it is gone",
        "grown": "it had 5 bytes and has 8",
        "kind": "it was a file and is a directory",
        "link": "it pointed to one and points to two",
        "mode": "its mode was 0644 and is 0600",
        "same-size": "its bytes changed, its size did not",
    }
