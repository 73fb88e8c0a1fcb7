"""The members of an archive come as they were packed, or the archive is said to be damaged."""

from __future__ import annotations

import errno
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.edges.archive_members import members, reading, refuse_size
from torchbuild.errors import FetchError, HostError


def write_tar(path: Path) -> Path:
    """A tar with one member of each kind, each a file of its name where it is one."""
    kinds = {
        "directory": tarfile.DIRTYPE,
        "file": tarfile.REGTYPE,
        "symlink": tarfile.SYMTYPE,
        "hardlink": tarfile.LNKTYPE,
        "special": tarfile.FIFOTYPE,
    }
    with tarfile.open(path, "w") as archive:
        for name, kind in kinds.items():
            info = tarfile.TarInfo(name)
            info.type, info.mtime, info.mode = kind, 7, 0o755
            info.size = len(name) if kind == tarfile.REGTYPE else 0
            info.linkname = "file" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            archive.addfile(info, io.BytesIO(name.encode()))
    return path


def write_zip(path: Path) -> Path:
    """A zip with one member of each kind that a zip knows."""
    kinds = {
        "directory/": stat.S_IFDIR,
        "file": stat.S_IFREG,
        "symlink": stat.S_IFLNK,
        "special": stat.S_IFIFO,
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, kind in kinds.items():
            info = zipfile.ZipInfo(name, (1980, 0, 0, 0, 0, 0))
            info.create_system, info.external_attr = 3, (kind | 0o755) << 16
            archive.writestr(info, b"" if name.endswith("/") else b"file")
    return path


def test_tar_members_come_in_order(tmp_path: Path) -> None:
    """Each member of a tar with its kind, and a link's target."""
    seen = [(member.name, member.kind, member.target) for member in members(write_tar(tmp_path / "t"))]
    assert seen == [
        ("directory", "directory", ""),
        ("file", "file", ""),
        ("symlink", "symlink", "file"),
        ("hardlink", "hardlink", "file"),
        ("special", "special", ""),
    ]


def test_zip_members_come_in_order(tmp_path: Path) -> None:
    """Each member of a zip with its kind; a time that is none is 1970."""
    seen = [
        (member.name, member.kind, member.target, member.mtime)
        for member in members(write_zip(tmp_path / "z"))
    ]
    assert seen == [
        ("directory/", "directory", "", 0.0),
        ("file", "file", "", 0.0),
        ("symlink", "symlink", "file", 0.0),
        ("special", "special", "", 0.0),
    ]


@pytest.mark.parametrize("write", [write_tar, write_zip])
def test_member_can_be_read_while_it_is_the_current_one(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    """A file's bytes, size and exec bit are had as one goes through the archive."""
    read = []
    for member in members(write(tmp_path / "archive")):
        if member.kind == "file":
            with member.open() as file:
                read.append((file.read(), member.size, member.is_executable))
    assert read == [(b"file", 4, True)]


@pytest.mark.parametrize(
    "error", [zlib.error("bad"), EOFError(), OSError("Invalid data stream"), ValueError("x")]
)
def test_damage_is_the_archives_fault(tmp_path: Path, error: Exception) -> None:
    """Whatever a reader says about wrong bytes, the archive is named as damaged."""
    with pytest.raises(FetchError) as caught, reading(tmp_path / "archive"):
        raise error
    assert caught.value.reference == "archive-truncated"
    assert str(tmp_path / "archive") in caught.value.what


def test_broken_disk_is_not_the_archives_fault(tmp_path: Path) -> None:
    """A disk that cannot be read is told from bytes that are wrong."""
    with pytest.raises(HostError) as caught, reading(tmp_path / "archive"):
        raise OSError(errno.EIO, "Input/output error")
    assert caught.value.reference == "file-operation-failed"


def test_size_is_refused_with_numbers(tmp_path: Path) -> None:
    """What is too large is named with its size and the limit."""
    with pytest.raises(FetchError) as caught:
        refuse_size(tmp_path / "archive", "bomb", 11, 10)
    assert caught.value.reference == "archive-too-large"
    assert caught.value.why == ("seen: 11 bytes with 'bomb'", "wanted: at most 10 bytes")
