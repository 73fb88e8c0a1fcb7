"""Reading what strangers packed: the members of a tar (plain, gz, xz, bz2) or a zip, one after the other.

The standard library's readers take some damaged archives for short ones, and read headers of any size into
memory. Here both are refused. Whether a member is safe to lay is the business of `torchbuild.edges.archive`.
"""

from __future__ import annotations

import bz2
import calendar
import contextlib
import gzip
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, Literal, NoReturn, Self, cast

from torchbuild.edges.atomic import translated
from torchbuild.errors import FetchError

__all__ = ["LONGEST_NAME", "Kind", "Member", "members", "reading", "refuse_size"]

LONGEST_NAME = 4095
"""Bytes that a path can have on Linux."""
_CHUNK = 1 << 20
_HEADERS = 4 << 20
"""Bytes that the headers before one member may take: GNU and pax ones are read into memory whole."""
_PADDING = 64 << 20
"""Bytes read at most behind a tar's end, to see that the compressed stream is whole."""
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    LookupError,
    OverflowError,
    RuntimeError,  # too deep; zipfile's word for a password, and for a compression or encryption it lacks
)
"""What damaged bytes make of the standard library's readers."""

Kind = Literal["directory", "file", "symlink", "hardlink", "special"]
"""What a member is; ``special`` is a device, a pipe, or what nobody knows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """One thing an archive holds, the same for all formats. Nothing about it is checked."""

    name: str
    """As it is packed; bytes that are not UTF-8 are surrogates."""
    kind: Kind
    """What it is."""
    size: int = 0
    """Bytes of a file, as declared; may be negative only in a damaged archive."""
    mtime: float = 0.0
    """Seconds since 1970, as declared."""
    is_executable: bool = False
    """Whether its owner may run it."""
    target: str = ""
    """Where a link points."""
    open: Callable[[], IO[bytes]]
    """Its bytes; only until the next member is asked for."""


@contextlib.contextmanager
def reading(archive: Path) -> Iterator[None]:
    """Say what the many ways mean in which the standard library meets damaged bytes.

    Raises:
        FetchError: ``archive-truncated``.
        HostError: the ones of `translated`, where the disk and not the data is at fault.
    """
    try:
        yield
    except _BROKEN as error:
        _refuse_damage(archive, error)
    except OSError as error:
        if error.errno is None:  # gzip and bz2 say so that the data is wrong
            _refuse_damage(archive, error)
        with translated(archive):
            raise


def members(archive: Path) -> Generator[Member, None, None]:
    """All members in the order they were packed; each can be opened until the next one is asked for.

    Raises:
        FetchError: ``archive-truncated``, ``archive-unknown-format``.
        HostError: ``file-missing``, ``not-writable`` (no right to read it), ``file-operation-failed``.
    """
    with translated(archive), archive.open("rb") as file:
        magic = file.read(6)
        file.seek(0)
        if magic[:4] in (b"PK\3\4", b"PK\5\6"):
            yield from _zip_members(archive, file)
        else:
            yield from _tar_members(archive, _decompressed(file, magic))


def _decompressed(file: BinaryIO, magic: bytes) -> IO[bytes]:
    if magic[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if magic[:3] == b"BZh":
        return bz2.BZ2File(file)
    if magic == b"\xfd7zXZ\0":
        return lzma.LZMAFile(file)
    return file


def _zip_members(archive: Path, file: BinaryIO) -> Generator[Member, None, None]:
    with reading(archive), zipfile.ZipFile(file) as packed:
        for info in packed.infolist():
            unix = info.external_attr >> 16 if info.create_system == 3 else 0  # noqa: PLR2004  Unix, says the format
            kind = _zip_kind(info, stat.S_IFMT(unix))
            if info.flag_bits & 1 or info.compress_type not in _ZIP_METHODS:
                _refuse_format(
                    archive, f"seen: {info.filename[:300]!a}, encrypted or packed in an unknown way"
                )
            target = ""
            if kind == "symlink":
                with packed.open(info) as link:
                    target = os.fsdecode(link.read(LONGEST_NAME + 1))
            yield Member(
                name=info.filename,
                kind=kind,
                size=info.file_size,
                mtime=_zip_time(info),
                is_executable=bool(unix & stat.S_IXUSR),
                target=target,
                open=partial(packed.open, info),
            )


def _zip_kind(info: zipfile.ZipInfo, kind: int) -> Kind:
    if info.is_dir():
        return "directory"
    if kind == stat.S_IFLNK:
        return "symlink"
    return "file" if kind in (0, stat.S_IFREG) else "special"


def _zip_time(info: zipfile.ZipInfo) -> float:
    """A zip knows local times without a zone; read as UTC, they are the same everywhere."""
    try:
        return float(calendar.timegm((*info.date_time, 0, 0, 0)))
    except ValueError:  # month 0 is common where somebody wrote no time at all
        return 0.0


class _NoHeader(tarfile.ReadError):
    """A block that should be a header and is none."""


class _Header(tarfile.TarInfo):
    """A header that is strict: the standard one takes a damaged header for the archive's end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        if not buf:
            raise tarfile.ReadError("the archive's end is missing")
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) == tarfile.BLOCKSIZE and not any(buf):
                raise  # the archive's end
            raise _NoHeader(str(error)) from error

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        header = super().fromtarfile(tarfile)
        if header.size < 0:
            raise ValueError("a negative size")
        return header


class _Bounded:
    """A file whose reader may take only so much at once while it reads headers."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.allowance: int | None = _HEADERS

    def read(self, size: int = -1) -> bytes:
        if self.allowance is not None:
            if not 0 <= size <= self.allowance:
                raise tarfile.ReadError("the headers of one member are too long")
            self.allowance -= size
        return self._file.read(size)

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(position, whence)

    def tell(self) -> int:
        return self._file.tell()


def _tar_members(archive: Path, file: IO[bytes]) -> Generator[Member, None, None]:
    with reading(archive), file:
        bounded = _Bounded(file)
        try:
            packed = tarfile.open(  # noqa: SIM115  it owns nothing; the file is closed by the line above
                fileobj=cast("IO[bytes]", bounded),
                mode="r:",
                tarinfo=_Header,
                encoding="utf-8",
                errors="surrogateescape",
            )
        except _NoHeader as error:
            _refuse_format(archive, f"seen: {error}")
        while info := packed.next():
            bounded.allowance = None
            packed.members.clear()  # type: ignore[attr-defined]  # a million headers are not worth keeping
            yield _tar_member(packed, info)
            bounded.allowance = _HEADERS
        bounded.allowance = None
        for _ in range(_PADDING // _CHUNK):
            if not bounded.read(_CHUNK):
                break


def _tar_member(packed: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    kind: Kind = "special"
    if info.isdir():
        kind = "directory"
    elif info.issym():
        kind = "symlink"
    elif info.islnk():
        kind = "hardlink"
    elif info.isreg():
        kind = "file"
    return Member(
        name=info.name,
        kind=kind,
        size=info.size if kind == "file" else 0,
        mtime=float(info.mtime),
        is_executable=bool(info.mode & stat.S_IXUSR),
        target=info.linkname,
        open=partial(_tar_file, packed, info),
    )


def _tar_file(packed: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    file = packed.extractfile(info)
    if file is None:
        raise tarfile.ReadError("no file")
    return file


def _refuse_damage(archive: Path, error: Exception) -> NoReturn:
    raise FetchError(
        "archive-truncated",
        f"{archive}: ends early, or is damaged",
        why=(f"seen: {str(error)[:300] or type(error).__name__}", "wanted: a whole tar or zip archive"),
        fix="Remove the file and fetch it again; if it is the same, tell those who published it.",
    ) from error


def _refuse_format(archive: Path, seen: str) -> NoReturn:
    raise FetchError(
        "archive-unknown-format",
        f"{archive}: not an archive that can be unpacked",
        why=(seen, "wanted: tar, plain or packed by gzip, bzip2 or xz, or zip, not encrypted"),
        fix="Look whether the file is an error page of a server; if not, pack it again as .tar.xz.",
    )


def refuse_size(archive: Path, name: str, seen: int, limit: int) -> NoReturn:
    """Say that with the member `name` there are `seen` bytes where `limit` may be.

    Raises:
        FetchError: ``archive-too-large``, always.
    """
    raise FetchError(
        "archive-too-large",
        f"{archive}: unpacks to more than may be",
        why=(f"seen: {seen} bytes with {name[:300]!a}", f"wanted: at most {limit} bytes"),
        fix="Check that this archive is the right one; it may be made to fill the disk.",
    )
