"""An archive is unpacked whole and inside its directory, or not at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchbuild.edges.archive import called, check, read_member, read_members, unpack
from torchbuild.edges.atomic import TEMP_PREFIX
from torchbuild.errors import FetchError, HostError, TorchbuildError

if TYPE_CHECKING:
    from collections.abc import Callable

EPOCH = 1_700_000_000
PACKERS = {"": lambda data: data, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def names(directory: Path) -> list[str]:
    """What lies there."""
    return sorted(path.name for path in directory.iterdir())


def entry(name: str, content: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """One member of a tar, with whatever a hostile hand writes into it."""
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(content), EPOCH, 0o644
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def directory(name: str, **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """A directory."""
    return entry(name, type=tarfile.DIRTYPE, **fields)


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    """A symbolic or a hard link."""
    return entry(name, type=kind, linkname=target)


def tar_bytes(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar of these members, in this order."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def zip_bytes(*members: tuple[str, bytes, int]) -> bytes:
    """A zip of names, contents and Unix modes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in members:
            info = zipfile.ZipInfo(name, (2023, 11, 14, 22, 13, 20))
            info.create_system, info.external_attr = 3, mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return packed.getvalue()


@pytest.fixture
def pack(tmp_path: Path) -> Callable[[bytes], Path]:
    """Write bytes as an archive, in a directory beside which nothing else may appear."""

    def write(data: bytes) -> Path:
        path = tmp_path / "archive"
        path.write_bytes(data)
        return path

    return write


def refusal(archive: Path, **options: object) -> FetchError:
    """The refusal, after which nothing is left."""
    with pytest.raises(FetchError) as caught:
        unpack(archive, archive.parent / "out", **options)  # type: ignore[arg-type]
    assert names(archive.parent) == [archive.name]
    if caught.value.reference != "archive-truncated":  # which only who reads every byte can tell of a zip
        with pytest.raises(FetchError, match=re.escape(str(caught.value))):
            check(archive, **options)  # type: ignore[arg-type]
        assert names(archive.parent) == [archive.name]
    return caught.value


# --- what is unpacked


@pytest.mark.parametrize("suffix", PACKERS)
def test_tar_is_unpacked_in_each_packing(pack: Callable[[bytes], Path], tmp_path: Path, suffix: str) -> None:
    """Plain, gzip, xz and bzip2: the content decides, not the file's name."""
    data = tar_bytes(directory("top"), entry("top/a", b"A"), entry("top/deep/er/b", b"B" * 3_000_000))
    unpack(pack(PACKERS[suffix](data)), tmp_path / "out")
    assert (tmp_path / "out/top/a").read_bytes() == b"A"
    assert (tmp_path / "out/top/deep/er/b").stat().st_size == 3_000_000
    assert names(tmp_path) == ["archive", "out"]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_of_each_dialect(pack: Callable[[bytes], Path], tmp_path: Path, form: int) -> None:
    """Names beyond 100 bytes come through in every dialect that can hold them."""
    name = "/".join(["long" * 10] * 4)
    unpack(pack(tar_bytes(entry(name, b"x"), form=form)), tmp_path / "out")
    assert (tmp_path / "out" / name).read_bytes() == b"x"


def test_system_tar_is_understood(tmp_path: Path) -> None:
    """A tree that the system's tar packed, with links and a hard link, comes out the same."""
    tree = tmp_path / "in/tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "file").write_bytes(b"content")
    (tree / "sub/run").write_bytes(b"#!/bin/sh\n")
    (tree / "sub/run").chmod(0o755)
    (tree / "hard").hardlink_to(tree / "file")
    (tree / "soft").symlink_to("sub/run")
    (tree / "sub/up").symlink_to("../file")
    subprocess.run(["tar", "-cJf", tmp_path / "t.tar.xz", "-C", tmp_path / "in", "tree"], check=True)
    unpack(tmp_path / "t.tar.xz", tmp_path / "out", strip=1)
    subprocess.run(["diff", "-r", tree, tmp_path / "out"], check=True)
    assert (tmp_path / "out/sub/up").readlink() == Path("../file")
    assert os.access(tmp_path / "out/soft", os.X_OK)
    assert (tmp_path / "out/hard").samefile(tmp_path / "out/file")


def test_zip_is_unpacked(pack: Callable[[bytes], Path], tmp_path: Path) -> None:
    """A zip with directories, an executable and a link comes out as it was packed."""
    data = zip_bytes(
        ("top/", b"", stat.S_IFDIR | 0o755),
        ("top/run", b"#!/bin/sh\n", stat.S_IFREG | 0o755),
        ("top/link", b"run", stat.S_IFLNK | 0o777),
        ("top/data", b"D" * 2_000_000, 0o644),
    )
    unpack(pack(data), tmp_path / "out")
    assert (tmp_path / "out/top/link").read_bytes() == b"#!/bin/sh\n"
    assert os.access(tmp_path / "out/top/run", os.X_OK)
    assert (tmp_path / "out/top/run").stat().st_mtime == EPOCH
    assert (tmp_path / "out/top/data").stat().st_size == 2_000_000


@pytest.mark.parametrize("umask", [0o000, 0o077], ids=oct)
def test_modes_are_ours(pack: Callable[[bytes], Path], tmp_path: Path, umask: int) -> None:
    """755 and 644 whatever the archive and the umask say; set-id bits are dropped."""
    data = tar_bytes(
        directory("d", mode=0o700),
        entry("d/plain", mode=0o666),
        entry("d/run", mode=0o4711),
        entry("secret", mode=0o400),
        entry("implied/file"),
    )
    was = os.umask(umask)
    try:
        unpack(pack(data), tmp_path / "out")
    finally:
        os.umask(was)
    modes = {
        path.relative_to(tmp_path).as_posix(): oct(path.stat().st_mode & 0o7777)
        for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")]
    }
    assert modes == {
        "out": "0o755",
        "out/d": "0o755",
        "out/d/plain": "0o644",
        "out/d/run": "0o755",
        "out/secret": "0o644",
        "out/implied": "0o755",
        "out/implied/file": "0o644",
    }


@pytest.mark.parametrize(
    ("packed", "kept"),
    [(EPOCH, EPOCH), (1.5, 1.5), (-5, 0), (2**40, 0)],
    ids=["past", "part", "negative", "far"],
)
def test_time_stamps_are_kept_where_they_can_be(
    pack: Callable[[bytes], Path], tmp_path: Path, packed: float, kept: float
) -> None:
    """A file's time is the packed one; one that no file system can hold becomes 1970."""
    unpack(pack(tar_bytes(entry("file", mtime=packed))), tmp_path / "out")
    assert (tmp_path / "out/file").stat().st_mtime == kept


def test_strip_and_only(pack: Callable[[bytes], Path], tmp_path: Path) -> None:
    """Leading parts go first; of what is left only the named part is kept, with its name."""
    data = tar_bytes(
        directory("./top"), entry("./top/lib/a", b"a"), entry("top/libc", b"c"), entry("top/b", b"b")
    )
    unpack(pack(data), tmp_path / "out", strip=1, only="lib/")
    assert [
        path.relative_to(tmp_path / "out").as_posix() for path in sorted((tmp_path / "out").rglob("*"))
    ] == [
        "lib",
        "lib/a",
    ]


def test_what_was_there_is_replaced(pack: Callable[[bytes], Path], tmp_path: Path) -> None:
    """A second run over the rests of a first one gives the archive's tree and nothing else."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/stale").touch()
    (tmp_path / f"{TEMP_PREFIX}x-99999999-dead").mkdir()
    os.utime(tmp_path / f"{TEMP_PREFIX}x-99999999-dead", (0, 0))
    unpack(pack(tar_bytes(entry("new"))), tmp_path / "out")
    assert names(tmp_path / "out") == ["new"]
    assert names(tmp_path) == ["archive", "out"]


def test_links_inside_may_cross(pack: Callable[[bytes], Path], tmp_path: Path) -> None:
    """Links through links, to directories, and to what is not there are fine while they stay inside."""
    data = tar_bytes(
        link("v", "versions/current"),
        link("versions/current", "1"),
        entry("versions/1/file", b"x"),
        link("versions/1/back", "../../v/file"),
        link("dangling", "nowhere"),
    )
    unpack(pack(data), tmp_path / "out")
    assert (tmp_path / "out/versions/1/back").read_bytes() == b"x"
    assert (tmp_path / "out/dangling").is_symlink()


# --- what is refused

UNSAFE = {
    "parent": [entry("../evil")],
    "parent in the middle": [entry("a/../../evil")],
    "parent that stays": [entry("a/../b")],
    "absolute": [entry("/etc/evil")],
    "null": [entry("a", pax_headers={"path": "a\0b"})],
    "endless part": [entry("x" * 256)],
    "endless name": [entry("/".join(["x" * 200] * 25))],
    "link to absolute": [link("l", "/etc/passwd")],
    "link to nothing": [link("l", "")],
    "link out": [link("l", "../outside")],
    "deep link out": [link("a/b/l", "../../../outside")],
    "link out through a link": [link("a/b/up", "../.."), entry("a/b/c"), link("x", "a/b/up/../outside")],
    "link out through a later link": [link("x", "a/up/.."), link("a/up", "..")],
    "links in a circle": [link("a", "b"), link("b", "a")],
    "below a link": [link("d", "sub"), entry("d/file")],
    "below a later link": [entry("d/file"), link("d", "sub")],
    "below a file": [entry("f"), entry("f/file")],
    "twice": [entry("f", b"one"), entry("f", b"two")],
    "twice, differently spelled": [entry("d/f", b"one"), entry("./d//f", b"two")],
    "a directory over a file": [entry("f"), directory("f")],
    "a link over a file": [entry("f"), link("f", "g")],
    "a file over a link": [link("f", "g"), entry("f", b"through")],
    "a file over a directory": [directory("d"), entry("d")],
    "hard link out": [link("h", "../../etc/passwd", tarfile.LNKTYPE)],
    "hard link to absolute": [link("h", "/etc/passwd", tarfile.LNKTYPE)],
    "hard link to nothing": [link("h", "none", tarfile.LNKTYPE)],
    "hard link to a link": [link("s", "f"), entry("f"), link("h", "s", tarfile.LNKTYPE)],
    "hard link to a directory": [directory("d"), link("h", "d", tarfile.LNKTYPE)],
    "pipe": [entry("p", type=tarfile.FIFOTYPE)],
    "device": [entry("d", type=tarfile.CHRTYPE, devmajor=1, devminor=3)],
    "block device": [entry("d", type=tarfile.BLKTYPE)],
    "unknown type": [entry("u", type=b"Z")],
}


@pytest.mark.parametrize("members", UNSAFE.values(), ids=UNSAFE)
def test_hostile_tar_is_refused_by_name(
    pack: Callable[[bytes], Path], members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    """Whatever could reach outside or change what was laid stops all, names its member and leaves nothing."""
    error = refusal(pack(tar_bytes(entry("good", b"g"), *members)))
    assert error.reference == "archive-unsafe-member"
    assert any(ascii(info.name[:300]) in error.what or "\\x00" in error.what for info, _ in members)


ZIP_UNSAFE = {
    "parent": [("../evil", b"", 0o644)],
    "absolute": [("/etc/evil", b"", 0o644)],
    "link out": [("l", b"../../etc", stat.S_IFLNK | 0o777)],
    "link to absolute": [("l", b"/etc", stat.S_IFLNK | 0o777)],
    "below a link": [("l", b"sub", stat.S_IFLNK | 0o777), ("l/file", b"", 0o644)],
    "pipe": [("p", b"", stat.S_IFIFO | 0o644)],
    "endless link": [("l", b"x/" * 3000, stat.S_IFLNK | 0o777)],
}


@pytest.mark.parametrize("members", ZIP_UNSAFE.values(), ids=ZIP_UNSAFE)
def test_hostile_zip_is_refused(pack: Callable[[bytes], Path], members: list[tuple[str, bytes, int]]) -> None:
    """A zip has the same rules."""
    assert refusal(pack(zip_bytes(*members))).reference == "archive-unsafe-member"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_zip_with_a_name_twice_is_refused(pack: Callable[[bytes], Path]) -> None:
    """Two files of one name in a zip: nobody can say which is meant."""
    data = zip_bytes(("f", b"one", 0o644), ("f", b"two", 0o644))
    assert refusal(pack(data)).reference == "archive-unsafe-member"


def test_names_of_other_encodings_are_kept(pack: Callable[[bytes], Path], tmp_path: Path) -> None:
    """A name that is not UTF-8 keeps its bytes, and a message about it can still be printed."""
    name = os.fsdecode(b"caf\xe9")
    unpack(pack(tar_bytes(entry(name), form=tarfile.GNU_FORMAT)), tmp_path / "out")
    assert [os.fsencode(found) for found in names(tmp_path / "out")] == [b"caf\xe9"]
    (tmp_path / "other").mkdir()
    bad = tmp_path / "other" / "archive"
    bad.write_bytes(tar_bytes(entry(f"../{name}"), form=tarfile.GNU_FORMAT))
    assert refusal(bad).what.isprintable()


def test_what_is_only_looked_through_leaves_nothing(pack: Callable[[bytes], Path]) -> None:
    """An archive that can be unpacked is told so without a file being written."""
    archive = pack(
        tar_bytes(directory("a"), entry("a/b", b"1"), link("a/c", "b"), link("a/d", "a/b", tarfile.LNKTYPE))
    )

    check(archive, strip=1)
    check(archive, only="a")

    assert names(archive.parent) == [archive.name]


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_cut_tar_is_seen_by_looking_through(pack: Callable[[bytes], Path], suffix: str) -> None:
    """Not only by who unpacks it."""
    data = PACKERS[suffix](big_tar())

    with pytest.raises(FetchError) as caught:
        check(pack(data[: len(data) * 6 // 10]))

    assert caught.value.reference == "archive-truncated"


@pytest.mark.parametrize("members", UNSAFE.values(), ids=UNSAFE)
def test_no_file_is_read_out_of_a_hostile_archive(
    pack: Callable[[bytes], Path], members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    """Who reads some files of it learns at once that it cannot be unpacked."""
    with pytest.raises(FetchError) as caught:
        read_members(pack(tar_bytes(*members)), lambda _name: True, strip=0)

    assert caught.value.reference == "archive-unsafe-member"


def test_an_archive_is_called_what_the_recipe_calls_it(pack: Callable[[bytes], Path]) -> None:
    """The name of a file in the store says nothing; where it lies is told as well, to be looked at."""
    archive = pack(tar_bytes(entry("../x")))

    with pytest.raises(FetchError) as caught, called("https://example.org/a.tar", archive):
        check(archive)

    assert caught.value.what.startswith("https://example.org/a.tar: ")
    assert caught.value.why[-1] == f"the file: {archive}"


def test_file_that_strip_would_lose_is_refused(pack: Callable[[bytes], Path]) -> None:
    """No file vanishes because its name is too short for strip."""
    error = refusal(pack(tar_bytes(entry("top/a"), entry("README"))), strip=1)
    assert error.reference == "archive-strip-too-deep"
    assert "README" in error.what


@pytest.mark.parametrize("only", ["nothing/here", "../x", "/top"])
def test_only_that_names_nothing_is_refused(pack: Callable[[bytes], Path], only: str) -> None:
    """An empty result is not what somebody asked for."""
    assert refusal(pack(tar_bytes(entry("top/a"))), only=only).reference == "archive-member-missing"


# --- size


@pytest.mark.parametrize(
    "data",
    [
        tar_bytes(entry("a", bytes(600)), entry("b", bytes(600))),
        zip_bytes(("a", bytes(600), 0o644), ("b", bytes(600), 0o644)),
    ],
    ids=["tar", "zip"],
)
def test_more_than_the_limit_is_refused(pack: Callable[[bytes], Path], data: bytes) -> None:
    """All members count together."""
    error = refusal(pack(data), limit_bytes=1199)
    assert error.reference == "archive-too-large"
    assert "1200" in error.why[0]


def test_bomb_is_refused_by_its_declared_size(pack: Callable[[bytes], Path]) -> None:
    """A gibibyte of nothing in a megabyte is refused before a byte of it is written."""
    info = tarfile.TarInfo("bomb")
    info.size = 1 << 40
    assert refusal(pack(gzip.compress(info.tobuf() + bytes(1 << 20)))).reference == "archive-too-large"


def test_zip_that_lies_about_its_size_is_refused(pack: Callable[[bytes], Path]) -> None:
    """A zip member that holds more than it declares never gets more room than it declared."""
    data = zip_bytes(("bomb", bytes(1 << 20), 0o644))
    small, real = (64).to_bytes(4, "little"), (1 << 20).to_bytes(4, "little")
    assert data.count(real) == 2
    assert refusal(pack(data.replace(real, small)), limit_bytes=1000).reference == "archive-truncated"


def test_sparse_bomb_is_refused(pack: Callable[[bytes], Path], tmp_path: Path) -> None:
    """A file that is mostly holes counts with its whole size."""
    (tmp_path / "in").mkdir()
    with (tmp_path / "in/holes").open("wb") as file:
        file.truncate(1 << 36)
    subprocess.run(["tar", "-cSf", tmp_path / "t.tar", "-C", tmp_path / "in", "holes"], check=True)
    data = (tmp_path / "t.tar").read_bytes()
    (tmp_path / "t.tar").unlink()
    (tmp_path / "in/holes").unlink()
    (tmp_path / "in").rmdir()
    assert refusal(pack(data)).reference == "archive-too-large"


def test_endless_header_is_refused(pack: Callable[[bytes], Path]) -> None:
    """A header that would be read into memory whole may not be larger than any header is."""
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 1 << 33
    assert refusal(pack(gzip.compress(info.tobuf() + bytes(8 << 20)))).reference == "archive-truncated"


def test_endless_chain_of_headers_is_refused(pack: Callable[[bytes], Path]) -> None:
    """Headers about headers about headers end in a refusal, not in a crash."""
    info = tarfile.TarInfo("pax")
    info.type = tarfile.XHDTYPE
    assert refusal(pack(info.tobuf(tarfile.USTAR_FORMAT) * 6000)).reference == "archive-truncated"


def test_negative_sizes_are_refused(pack: Callable[[bytes], Path]) -> None:
    """A size below nothing would send the reader backwards for ever."""
    data = tar_bytes(entry("a"), entry("b", pax_headers={"size": "-2048"}))
    assert refusal(pack(data)).reference == "archive-truncated"


# --- damage


def big_tar() -> bytes:
    """A tar whose every part is worth cutting."""
    return tar_bytes(*(entry(f"top/{number}", os.urandom(700)) for number in range(40)))


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("part", [0.3, 0.6, 0.8], ids=str)
def test_cut_tar_is_refused(pack: Callable[[bytes], Path], suffix: str, part: float) -> None:
    """An archive that ends early is not a shorter archive."""
    data = PACKERS[suffix](big_tar())
    assert refusal(pack(data[: int(len(data) * part)])).reference == "archive-truncated"


def test_tar_cut_between_members_is_refused(pack: Callable[[bytes], Path]) -> None:
    """Also where the cut falls exactly behind a member, which the standard reader takes for the end."""
    assert refusal(pack(tar_bytes(entry("a"), entry("b"))[:1024])).reference == "archive-truncated"


def test_tar_with_a_damaged_header_is_refused(pack: Callable[[bytes], Path]) -> None:
    """Also where a later header is garbage, which the standard reader takes for the end."""
    data = bytearray(tar_bytes(entry("a"), entry("b"), entry("c")))
    data[512 + 10] ^= 0xFF
    assert refusal(pack(bytes(data))).reference == "archive-truncated"


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_damaged_checksum_is_refused(pack: Callable[[bytes], Path], suffix: str) -> None:
    """The packing's own checksum is looked at, though it comes after the last member."""
    data = bytearray(PACKERS[suffix](tar_bytes(entry("a", b"x" * 100))))
    data[-6 if suffix == ".gz" else -12 if suffix == ".xz" else -3] ^= 0xFF
    assert refusal(pack(bytes(data))).reference == "archive-truncated"


def test_cut_zip_is_refused(pack: Callable[[bytes], Path]) -> None:
    """A zip without its end has no list of members."""
    data = zip_bytes(("a", os.urandom(1000), 0o644))
    assert refusal(pack(data[:-30])).reference == "archive-truncated"


def test_damaged_zip_member_is_refused(pack: Callable[[bytes], Path]) -> None:
    """A member whose checksum is wrong is not laid."""
    data = bytearray(zip_bytes(("a", os.urandom(1000), 0o644)))
    data[200] ^= 0xFF
    assert refusal(pack(bytes(data))).reference == "archive-truncated"


@pytest.mark.parametrize(
    "data",
    [
        b"<!DOCTYPE html><html>404</html>",
        b"<html>" * 1000,
        gzip.compress(b"not a tar" * 200),
        b"!<arch>\ndebian-binary   1342943816  0     0     100644  4         `\n2.0\n",
        b"\x28\xb5\x2f\xfd" + bytes(600),
    ],
    ids=["error page", "long page", "packed text", "ar", "zstd"],
)
def test_other_files_are_no_archives(pack: Callable[[bytes], Path], data: bytes) -> None:
    """What is not an archive is said to be none, so that one looks at what was downloaded."""
    assert refusal(pack(data)).reference == "archive-unknown-format"


def test_encrypted_zip_is_refused(pack: Callable[[bytes], Path]) -> None:
    """A zip that wants a password cannot be unpacked."""
    data = bytearray(zip_bytes(("a", b"x", 0o644)))
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    assert refusal(pack(bytes(data))).reference == "archive-unknown-format"


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b", b"PK\3\4"], ids=["nothing", "gzip magic", "zip magic"])
def test_nearly_nothing_is_refused(pack: Callable[[bytes], Path], data: bytes) -> None:
    """A download that ended at once is called so."""
    assert refusal(pack(data)).reference == "archive-truncated"


def test_missing_archive_is_named(tmp_path: Path) -> None:
    """An archive that is not there leaves nothing either."""
    with pytest.raises(HostError) as caught:
        unpack(tmp_path / "none", tmp_path / "out")
    assert caught.value.reference == "file-missing"
    assert names(tmp_path) == []


FULL = """
import os, sys
from pathlib import Path
from torchbuild.edges.archive import unpack
from torchbuild.errors import HostError
try:
    unpack(Path(sys.argv[2]), Path(sys.argv[1], "out"))
except HostError as error:
    print(error.reference, os.listdir(sys.argv[1]))
"""


def test_full_disk_leaves_nothing(pack: Callable[[bytes], Path], tmp_path: Path) -> None:
    """Where the tree does not fit, it is not there at all."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("only root may mount a file system")
    archive = pack(tar_bytes(entry("a", b"a"), entry("big", bytes(1 << 20))))
    (tmp_path / "mounted").mkdir()
    mount = 'mount -t tmpfs -o size=64k none "$1" && exec "$2" -c "$3" "$1" "$4"'
    argv = ["unshare", "-m", "sh", "-c", mount, "sh", tmp_path / "mounted", sys.executable, FULL, archive]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "disk-full []"


# --- one member


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(tar_bytes(directory("pkg-1.0"), entry("pkg-1.0/pyproject.toml", b"[x]"))),
        zip_bytes(("pkg-1.0/", b"", 0o755), ("pkg-1.0/pyproject.toml", b"[x]", 0o644)),
    ],
    ids=["tar", "zip"],
)
def test_one_member_is_read_without_unpacking(
    pack: Callable[[bytes], Path], tmp_path: Path, data: bytes
) -> None:
    """The small file is had from tar and zip; one that is not there is None."""
    archive = pack(data)
    assert read_member(archive, "pyproject.toml") == b"[x]"
    assert read_member(archive, "pkg-1.0/pyproject.toml", strip=0) == b"[x]"
    assert read_member(archive, "setup.py") is None
    assert names(tmp_path) == ["archive"]


def test_one_member_must_be_small(pack: Callable[[bytes], Path]) -> None:
    """A file of 17 MiB is not read into memory."""
    archive = pack(gzip.compress(tar_bytes(entry("p/pyproject.toml", bytes(17 << 20))), 1))
    with pytest.raises(FetchError) as caught:
        read_member(archive, "pyproject.toml")
    assert caught.value.reference == "archive-too-large"


def test_one_member_of_a_cut_archive_is_refused(pack: Callable[[bytes], Path]) -> None:
    """A member that ends early is no member."""
    archive = pack(tar_bytes(entry("p/pyproject.toml", bytes(2000)))[:1500])
    with pytest.raises(FetchError) as caught:
        read_member(archive, "pyproject.toml")
    assert caught.value.reference == "archive-truncated"


# --- anything

NAMES = st.lists(
    st.sampled_from(["..", ".", "", "a", "b", "c", "~", "a\0", "\n", "é", "x" * 256]), min_size=1, max_size=5
).map("/".join)
MEMBERS = st.lists(
    st.one_of(
        st.builds(entry, NAMES, st.binary(max_size=20)),
        st.builds(directory, NAMES),
        st.builds(link, NAMES, NAMES),
        st.builds(link, NAMES, NAMES, st.just(tarfile.LNKTYPE)),
    ),
    max_size=6,
)


def unpack_somewhere(data: bytes) -> None:
    """Whatever comes, nothing is outside and only our own errors come out."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        (top / "archive").write_bytes(data)
        try:
            unpack(top / "archive", top / "in/out", limit_bytes=1 << 20)
        except TorchbuildError:
            assert sorted(path.name for path in top.rglob("*")) in (["archive"], ["archive", "in"])
        out = (top / "in/out").resolve()
        for path in out.rglob("*"):
            assert not path.is_symlink() or (out in (path.resolve(), *path.resolve().parents))
        assert {item.name for item in top.iterdir()} <= {"archive", "in"}


@settings(max_examples=300, deadline=None)
@given(MEMBERS)
def test_no_tree_of_names_escapes(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Whatever the names and links say, all lies inside and every link ends inside."""
    unpack_somewhere(tar_bytes(*members, form=tarfile.GNU_FORMAT))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_damage_crashes(data: st.DataObject) -> None:
    """Bytes that were changed at random give an unpacked tree or an error of ours."""
    source = data.draw(
        st.sampled_from(
            [
                tar_bytes(entry("a/b", b"x" * 600), link("l", "a/b"), entry("n" * 120)),
                tar_bytes(entry("a/b", b"x"), link("l", "a"), entry("n" * 120), form=tarfile.GNU_FORMAT),
                zip_bytes(("a/b", b"x" * 100, 0o644), ("l", b"a/b", stat.S_IFLNK | 0o777)),
                gzip.compress(tar_bytes(entry("a/b", b"x" * 600)), mtime=0),
                lzma.compress(tar_bytes(entry("a/b", b"x" * 600))),
                bz2.compress(tar_bytes(entry("a/b", b"x" * 600))),
            ]
        )
    )
    damaged = bytearray(source)
    for place in data.draw(st.lists(st.integers(0, len(source) - 1), max_size=4)):
        damaged[place] = data.draw(st.integers(0, 255))
    unpack_somewhere(bytes(damaged[: data.draw(st.integers(1, len(damaged)))]))
