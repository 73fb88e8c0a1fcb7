"""Nothing half-written counts, and a refusal of the operating system says who must act."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torchbuild.edges import atomic
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65534


def names(directory: Path) -> list[str]:
    """What lies there."""
    return sorted(path.name for path in directory.iterdir())


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


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may grow beyond 4 KiB: a full disk, as far as a writer can tell."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


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


def test_write_makes_directories_and_content(tmp_path: Path) -> None:
    """A file is there with its text, and nothing beside it."""
    path = tmp_path / "a" / "b.txt"
    atomic.write_text(path, "größer\n")
    assert path.read_bytes() == "größer\n".encode()
    assert names(path.parent) == ["b.txt"]


@pytest.mark.parametrize("umask", [0o000, 0o077], ids=oct)
def test_write_does_not_depend_on_umask(tmp_path: Path, umask: int) -> None:
    """Everybody may read what we write, whatever the caller's umask."""
    was = os.umask(umask)
    try:
        atomic.write_bytes(tmp_path / "file", b"x")
    finally:
        os.umask(was)
    assert (tmp_path / "file").stat().st_mode & 0o7777 == 0o644


def test_full_disk_leaves_the_old_file(tmp_path: Path, small_files: None) -> None:
    """Where the new content does not fit, the old one stays and no temporary file is left."""
    path = tmp_path / "file"
    atomic.write_bytes(path, b"old")
    with pytest.raises(HostError) as caught:
        atomic.write_bytes(path, b"n" * 5000)
    assert caught.value.reference == "disk-full"
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["file"])


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    """Nor a device: a rename would take /dev/null from everybody."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(HostError) as caught:
        atomic.write_text(pipe, "x")
    assert caught.value.reference == "file-operation-failed"
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    """A process that dies before the rename changes nothing; what it left is found and is nobody else's."""
    path = tmp_path / "file"
    atomic.write_bytes(path, b"old")
    script = (
        "import os, sys; from pathlib import Path; from torchbuild.edges import atomic\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), 9)\n"
        "atomic.write_bytes(Path(sys.argv[1]), b'new')"
    )
    done = subprocess.run([sys.executable, "-c", script, path], check=False)
    assert done.returncode == -9
    assert path.read_bytes() == b"old"
    left = atomic.leftovers(tmp_path)
    assert [name for name in names(tmp_path) if name != "file"] == [left[0].name]


def test_not_writable_names_the_place(plain_user: Path) -> None:
    """Without rights the error names the file and what to do."""
    (plain_user / "closed").mkdir(mode=0o500)
    with pytest.raises(HostError) as caught:
        atomic.write_bytes(plain_user / "closed" / "file", b"x")
    assert caught.value.reference == "not-writable"
    assert str(plain_user / "closed" / "file") in caught.value.what


@pytest.mark.parametrize(
    ("number", "reference"),
    [
        (errno.ENOSPC, "disk-full"),
        (errno.EDQUOT, "disk-full"),
        (errno.EFBIG, "disk-full"),
        (errno.EROFS, "not-writable"),
        (errno.EACCES, "not-writable"),
        (errno.EPERM, "not-writable"),
        (errno.ENOENT, "file-missing"),
        (errno.EIO, "file-operation-failed"),
    ],
    ids=lambda value: errno.errorcode.get(value, value) if isinstance(value, int) else value,
)
def test_each_refusal_has_its_reference(tmp_path: Path, number: int, reference: str) -> None:
    """The kind of refusal decides who must act; the system's own words are kept."""
    with pytest.raises(HostError) as caught, atomic.translated(tmp_path / "file"):
        raise OSError(number, os.strerror(number))
    assert caught.value.reference == reference
    assert os.strerror(number) in caught.value.why[0]


def test_digest_is_the_published_one(tmp_path: Path) -> None:
    """A digest is what sha256sum prints."""
    (tmp_path / "file").write_bytes(b"abc" * 1_000_000)
    assert atomic.sha256_of(tmp_path / "file") == hashlib.sha256(b"abc" * 1_000_000).hexdigest()


def test_digest_of_nothing_is_refused(tmp_path: Path) -> None:
    """A file that is not there has no digest."""
    with pytest.raises(HostError) as caught:
        atomic.sha256_of(tmp_path / "none")
    assert caught.value.reference == "file-missing"


def test_replace_directory_swaps_whole_trees(tmp_path: Path) -> None:
    """The new tree has the name and the old one is gone, not merged."""
    for name, file in (("final", "old"), ("temp", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).touch()
    atomic.replace_directory(tmp_path / "temp", tmp_path / "final")
    assert (names(tmp_path), names(tmp_path / "final")) == (["final"], ["new"])


def test_replace_directory_puts_the_old_one_back(tmp_path: Path) -> None:
    """Where the new tree cannot get the name, the old one keeps it."""
    (tmp_path / "final").mkdir()
    with pytest.raises(HostError) as caught:
        atomic.replace_directory(tmp_path / "temp", tmp_path / "final")
    assert caught.value.reference == "file-missing"
    assert names(tmp_path) == ["final"]


def test_replace_directory_replaces_a_link_not_its_target(tmp_path: Path) -> None:
    """A link that has the name goes; what it points at stays."""
    for name in ("temp", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "elsewhere" / "precious").touch()
    (tmp_path / "final").symlink_to("elsewhere")
    atomic.replace_directory(tmp_path / "temp", tmp_path / "final")
    assert not (tmp_path / "final").is_symlink()
    assert names(tmp_path / "elsewhere") == ["precious"]


def test_remove_tree_does_not_follow_links(tmp_path: Path) -> None:
    """Removing a tree removes its links, never what they point at."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "precious")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    for name in ("tree", "link", "never-there"):
        atomic.remove_tree(tmp_path / name)
    assert names(tmp_path) == ["precious"]
    assert names(tmp_path / "precious") == ["file"]


def test_remove_tree_removes_read_only_trees(plain_user: Path) -> None:
    """A tree that somebody made read-only goes too, and the modes of what its links point at stay."""
    (plain_user / "precious").mkdir(mode=0o500)
    deep = plain_user / "tree" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    (deep / "link").symlink_to(plain_user / "precious")
    for path in (deep, deep.parent, plain_user / "tree"):
        path.chmod(0o500)
    atomic.remove_tree(plain_user / "tree")
    assert names(plain_user) == ["precious"]
    assert (plain_user / "precious").stat().st_mode & 0o777 == 0o500


def test_remove_tree_removes_trees_deeper_than_the_stack(deep: Path) -> None:
    """A tree of a thousand levels, as a hostile archive has it, goes like any other."""
    atomic.remove_tree(deep)
    assert names(deep.parent) == []


def test_leftovers_are_what_no_living_process_made(tmp_path: Path) -> None:
    """A temporary name of a living process is left alone until it is a day old; other names always are."""
    fresh, old = atomic.temp_beside(tmp_path / "x"), atomic.temp_beside(tmp_path / "x")
    foreign = tmp_path / f"{atomic.TEMP_PREFIX}00000000-1-abc"
    for path in (fresh, old, foreign, tmp_path / "file"):
        path.touch()
    os.utime(old, (0, 0))
    assert atomic.leftovers(tmp_path) == (old,)
    assert atomic.leftovers(tmp_path, older_than_s=-10) == tuple(sorted((fresh, old, foreign)))
    assert atomic.leftovers(tmp_path / "none") == ()


def test_a_room_to_work_in_goes_with_its_body(tmp_path: Path) -> None:
    """However the body ends; what a killed run left in the folder goes as well."""
    folder = tmp_path / "rooms"
    folder.mkdir()
    left = folder / f"{atomic.TEMP_PREFIX}elsewhere-1-x"
    left.mkdir()
    os.utime(left, (0, 0))

    with atomic.workroom(folder, "room") as room:
        (room / "file").touch()
        assert list(folder.iterdir()) == [room]
    assert list(folder.iterdir()) == []

    with pytest.raises(ValueError, match="the body"), atomic.workroom(folder, "room"):
        raise ValueError("the body")
    assert list(folder.iterdir()) == []
