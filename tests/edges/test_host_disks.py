"""The places that a build writes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.edges.host_disks import disk_blank, look_at_disk, mount_of, mounts_in, nearest

MOUNTS = r"""
23 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
24 23 0:21 / /proc rw,nosuid,nodev,noexec - proc proc rw
31 23 0:28 / /tmp rw,nosuid,nodev,noexec,relatime shared:9 - tmpfs tmpfs rw,size=2097152k
32 23 0:40 / /home rw,relatime - nfs4 server:/home rw,vers=4.2,hard
33 23 254:16 / /mnt/my\040disk ro,relatime - xfs /dev/vdb ro
34 23 0:50 / /home rw,relatime - autofs auto rw
35 32 0:41 / /home/me rw,relatime - nfs4 server:/home/me rw
nonsense
36 23 0:60 / - short
""".strip()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/", ("/", "ext4", "254:0")),
        ("/usr/lib", ("/", "ext4", "254:0")),
        ("/tmp/x", ("/tmp", "tmpfs", "0:28")),
        ("/tmpx", ("/", "ext4", "254:0")),
        ("/home/other", ("/home", "autofs", "0:50")),
        ("/home/me/x", ("/home/me", "nfs4", "0:41")),
        ("/mnt/my disk/x", ("/mnt/my disk", "xfs", "254:16")),
    ],
)
def test_a_path_lies_on_the_deepest_and_last_mount(path: str, told: tuple[str, str, str]) -> None:
    """Names with blanks, one mount over another, and names that merely begin alike."""
    mount = mount_of(path, mounts_in(MOUNTS))

    assert (mount.point, mount.kind, mount.device) == told


def test_options_of_mount_and_file_system_are_known() -> None:
    """Programs in such a place cannot be started."""
    assert "noexec" in mount_of("/tmp", mounts_in(MOUNTS)).options
    assert "ro" in mount_of("/mnt/my disk", mounts_in(MOUNTS)).options
    assert mount_of("/x", ()).kind == ""


def test_a_directory_is_looked_at_where_it_lies(tmp_path: Path) -> None:
    """Free space, writable, and the file system."""
    seen = look_at_disk("builds", tmp_path)

    assert (seen.path, seen.wanted, seen.is_writable) == (str(tmp_path), "", True)
    assert (seen.free or 0) > 0
    assert seen.kind
    assert seen.device


def test_one_that_is_not_there_is_looked_at_above(tmp_path: Path) -> None:
    """Nothing is made for it."""
    seen = look_at_disk("store", tmp_path / "a" / "b")

    assert (seen.path, seen.wanted) == (str(tmp_path), str(tmp_path / "a" / "b"))
    assert list(tmp_path.iterdir()) == []


def test_links_are_followed(tmp_path: Path) -> None:
    """A link to another disk is on that disk; one to nowhere is not there yet."""
    (tmp_path / "to").mkdir()
    (tmp_path / "link").symlink_to("to")
    (tmp_path / "file").touch()

    assert look_at_disk("out", tmp_path / "link").path == f"{tmp_path}/to"
    assert look_at_disk("out", tmp_path / "link").wanted == ""
    assert nearest(tmp_path / "file" / "x") == tmp_path


def test_a_place_that_takes_no_writing_is_told() -> None:
    """The kernel's own files are not for builds."""
    assert look_at_disk("out", Path("/proc/self")).is_writable is False


def test_of_one_that_could_not_be_looked_at_nothing_is_claimed() -> None:
    """No number, rather than a wrong one."""
    seen = disk_blank("temp", Path("/tmp"))

    assert (seen.free, seen.inodes, seen.kind, seen.is_writable) == (None, None, "", False)


@pytest.mark.parametrize("below", ["", "deep/builds"])
def test_a_file_where_a_directory_would_be_is_in_the_way(below: str, tmp_path: Path) -> None:
    """However much free space there is above it."""
    (tmp_path / "file").touch()

    seen = look_at_disk("builds", tmp_path / "file" / below)

    assert (seen.is_writable, seen.obstacle) == (False, str(tmp_path / "file"))
