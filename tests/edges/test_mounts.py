"""Copies into and out of a build: whole, faithful, and never through a link that leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchbuild.edges.mounts import Mounts
from torchbuild.errors import HostError


@pytest.fixture
def mounts(tmp_path: Path) -> Mounts:
    """Three fresh directories."""
    mounts = Mounts(root=tmp_path / "root", store=tmp_path / "store", cache=tmp_path / "cache")
    mounts.prepare()
    return mounts


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/torchbuild", "root"),
        ("/torchbuild/a/b", "root/a/b"),
        ("{source}/setup.py", "root/source/setup.py"),
        ("{store}/ab/cd", "store/ab/cd"),
        ("{cache}/ccache", "cache/ccache"),
        ("/torchbuild/a/../b", "root/b"),
        ("/torchbuild/storekeeper", "root/storekeeper"),
    ],
)
def test_path_of_the_build_has_a_place_here(path: str, expected: str, mounts: Mounts, tmp_path: Path) -> None:
    """Every path that a build knows lies in one of the three directories of this machine."""
    assert mounts.outside(path) == tmp_path / expected


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "relative", "/torchbuild/../etc/passwd", "/", "/torchbuild2"]
)
def test_path_elsewhere_is_refused(path: str, mounts: Mounts) -> None:
    """A path outside the build is refused, also where dots lead there."""
    with pytest.raises(HostError) as caught:
        mounts.outside(path)
    assert caught.value.reference == "path-outside-mounts"


def test_link_is_resolved_as_the_build_sees_it(mounts: Mounts) -> None:
    """A link that a build made to its own fixed path leads to the same file from outside."""
    (mounts.root / "link").symlink_to("/torchbuild/cache")
    assert mounts.outside("/torchbuild/link/x") == mounts.cache / "x"


def test_relative_link_is_resolved(mounts: Mounts) -> None:
    """A relative link inside the build is followed."""
    (mounts.root / "a").mkdir()
    (mounts.root / "a" / "link").symlink_to("../b")
    assert mounts.outside("/torchbuild/a/link/x") == mounts.root / "b" / "x"


@pytest.mark.parametrize("target", ["/etc", "../../../../../../etc"], ids=["absolute", "dots"])
def test_link_that_leads_out_is_refused(target: str, mounts: Mounts) -> None:
    """A build cannot hand out the machine's files by way of a link."""
    (mounts.root / "link").symlink_to(target)
    with pytest.raises(HostError) as caught:
        mounts.outside("/torchbuild/link/passwd")
    assert caught.value.reference == "path-outside-mounts"


def test_link_loop_is_refused(mounts: Mounts) -> None:
    """Links that go round in a circle end in an error, not in a hang."""
    (mounts.root / "a").symlink_to("b")
    (mounts.root / "b").symlink_to("a")
    with pytest.raises(HostError) as caught:
        mounts.outside("/torchbuild/a")
    assert caught.value.reference == "path-outside-mounts"


def make_tree(top: Path) -> None:
    """Lay down a file with a mode and a time, a directory, links."""
    (top / "sub").mkdir(parents=True)
    (top / "sub" / "tool").write_text("#!/bin/sh\n")
    (top / "sub" / "tool").chmod(0o750)
    os.utime(top / "sub" / "tool", ns=(1_000_000_001, 1_000_000_002))
    (top / "to-file").symlink_to("sub/tool")
    (top / "to-nowhere").symlink_to("/no/such")
    (top / "empty").mkdir(mode=0o711)
    os.utime(top / "sub", ns=(1_000_000_003, 1_000_000_004))


def look(top: Path) -> dict[str, object]:
    """What `make_tree` laid down."""
    tool = top / "sub" / "tool"
    return {
        "text": tool.read_text(),
        "mode": oct(tool.stat().st_mode),
        "times": (tool.stat().st_mtime_ns, (top / "sub").stat().st_mtime_ns),
        "links": (str((top / "to-file").readlink()), str((top / "to-nowhere").readlink())),
        "empty": oct((top / "empty").stat().st_mode),
    }


def test_directory_goes_in_and_comes_out_the_same(mounts: Mounts, tmp_path: Path) -> None:
    """Content, permissions, times and links survive the way in and the way out."""
    make_tree(tmp_path / "here")
    mounts.put(tmp_path / "here", "{work}/deep/there")
    mounts.get("{work}/deep/there", tmp_path / "back" / "again")
    assert look(tmp_path / "back" / "again") == look(tmp_path / "here")


def test_copy_twice_is_the_same_as_once(mounts: Mounts, tmp_path: Path) -> None:
    """A copy that was interrupted can simply be made again."""
    make_tree(tmp_path / "here")
    mounts.put(tmp_path / "here", "{work}/there")
    mounts.put(tmp_path / "here", "{work}/there")
    assert look(mounts.root / "there") == look(tmp_path / "here")


def test_other_files_of_the_destination_stay(mounts: Mounts, tmp_path: Path) -> None:
    """A copy into a directory that is in use removes nothing there."""
    make_tree(tmp_path / "here")
    (mounts.root / "there").mkdir()
    (mounts.root / "there" / "other").write_text("mine")
    mounts.put(tmp_path / "here", "{work}/there")
    assert (mounts.root / "there" / "other").read_text() == "mine"


def test_set_user_id_stays_behind(mounts: Mounts, tmp_path: Path) -> None:
    """A build cannot give the machine a program that runs as another user."""
    (mounts.root / "tool").write_text("x")
    (mounts.root / "tool").chmod(0o4755)
    mounts.get("{work}/tool", tmp_path / "tool")
    assert oct((tmp_path / "tool").stat().st_mode) == "0o100755"


def test_copy_never_goes_through_a_link_of_the_build(mounts: Mounts, tmp_path: Path) -> None:
    """A link that a build laid where a directory arrives is replaced, not followed."""
    make_tree(tmp_path / "here")
    (tmp_path / "victim").mkdir()
    (mounts.root / "there").mkdir()
    (mounts.root / "there" / "sub").symlink_to(tmp_path / "victim")
    mounts.put(tmp_path / "here", "{work}/there")
    assert (list((tmp_path / "victim").iterdir()), (mounts.root / "there" / "sub" / "tool").is_file()) == (
        [],
        True,
    )


def test_nothing_half_written_stays(mounts: Mounts, tmp_path: Path) -> None:
    """A copy that fails leaves no part of a file behind."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(HostError):
        mounts.put(tmp_path / "pipe", "{work}/there")
    assert sorted(path.name for path in mounts.root.iterdir()) == ["cache", "store"]


def test_store_takes_nothing(mounts: Mounts, tmp_path: Path) -> None:
    """What is in the store got there by its digest; a stage cannot put something beside it."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(HostError) as caught:
        mounts.put(tmp_path / "file", "{store}/file")
    assert caught.value.reference == "store-is-read-only"


def test_missing_source_is_named_on_the_way_in(mounts: Mounts, tmp_path: Path) -> None:
    """A file that is not here is named."""
    with pytest.raises(HostError) as caught:
        mounts.put(tmp_path / "nothing", "{work}/x")
    assert (caught.value.reference, "nothing" in caught.value.what) == ("file-missing", True)


def test_missing_source_is_named_on_the_way_out(mounts: Mounts, tmp_path: Path) -> None:
    """A file that the build did not make is named."""
    with pytest.raises(HostError) as caught:
        mounts.get("{work}/nothing", tmp_path / "x")
    assert (caught.value.reference, "nothing" in caught.value.what) == ("file-missing", True)
