"""Containers of GPU code as NVIDIA's ``fatbinary`` writes them, read by their headers alone.

A section is a row of containers, one of each compiled file. A container is a row of entries, one of each
architecture: machine code (SASS) or PTX, compressed or not. The entry's own header says for which
architecture it is, with its suffix, so that nothing has to be decompressed.

NVIDIA describes none of this. What stands here was found by compiling with nvcc 12.4, 13.0 and 13.5 and
comparing with cuobjdump: docs/evidence/gpu-code.md.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from torchbuild.inspection.bounded import BoundedFile, MalformedError
from torchbuild.inspection.text import escaped

__all__ = ["Code", "FatBinary", "fat_binaries"]

_CONTAINER = struct.Struct("<IHHQ")
_MAGIC = 0xBA55ED50
_VERSION = 1

_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_TEXT = struct.Struct("<II")
_LONGEST_HEADER = 1 << 20
_LONGEST_NAME = 4096
_CHUNK = 1 << 16
_WEIGHT = 8  # each is kept, unlike a section's header: a million at most

_PTX, _SASS, _LTO, _SEVERAL = 1, 2, 8, 256
_ACCELERATED, _FAMILY = 1 << 20, 1 << 21


class _Entry(NamedTuple):
    """The fixed part of an entry's header; texts may follow in the same header."""

    kind: int
    version: int
    header: int
    """Bytes of the header; in a table of joined entries, where the part begins once it is decompressed."""
    length: int
    """Bytes that follow the header."""
    packed: int
    options: int
    """Where place and length of the compiler's options are; in a joined entry, where its table is."""
    minor: int
    major: int
    number: int
    """Architecture: 90."""
    name_at: int
    name_size: int
    flags: int
    key: int
    whole: int
    """Bytes when decompressed."""


class Code(NamedTuple):
    """One entry: code for one architecture."""

    kind: int
    number: int
    suffix: str

    @property
    def is_sass(self) -> bool:
        """Machine code."""
        return self.kind == _SASS

    @property
    def is_ptx(self) -> bool:
        """What a driver can translate."""
        return self.kind == _PTX

    @property
    def name(self) -> str:
        """As nvcc calls it: ``sm_90a``, ``compute_90``, ``lto_90``; a number where it is unknown."""
        prefix = {_PTX: "compute_", _SASS: "sm_", _LTO: "lto_"}.get(self.kind, f"kind {self.kind}: ")
        return f"{prefix}{self.number}{self.suffix}"


class FatBinary(NamedTuple):
    """One container."""

    position: int
    """Where it lies in the file."""
    source: str
    """Name of the file that it was compiled from; empty where the compiler left it out (without ``-g``)."""
    code: tuple[Code, ...]


def fat_binaries(file: BoundedFile, position: int, size: int) -> Iterator[FatBinary]:
    """Every container of a section that lies at `position`.

    Raises:
        MalformedError: something else lies there, or a header promises what is not there.
    """
    end = position + size
    while (position := _next(file, position, end)) < end:
        file.step(_WEIGHT)
        magic, version, header, length = _CONTAINER.unpack(_piece(file, position, _CONTAINER.size, end))
        if magic != _MAGIC:
            raise MalformedError(f"no container of GPU code at {position}")
        if version != _VERSION or header < _CONTAINER.size:
            raise MalformedError(f"a container of GPU code of version {version}, which is not known")
        begin, stop = position + header, position + header + length
        if stop > end:
            raise MalformedError(f"a container of GPU code at {position} ends {stop - end} bytes too late")
        yield _container(file, position, begin, stop)
        position = stop


def _next(file: BoundedFile, position: int, end: int) -> int:
    """Where the next container begins: between two of them lie zeros, for the sake of alignment."""
    size = 8
    while position < end:
        piece = file.at(position, min(size, end - position))
        zeros = len(piece) - len(piece.lstrip(b"\0"))
        position += zeros
        if zeros < len(piece):
            break
        file.step(1 + zeros // 64)
        size = min(2 * size, _CHUNK)
    return position


def _container(file: BoundedFile, position: int, begin: int, stop: int) -> FatBinary:
    source, code = "", []
    while begin < stop:
        file.step(_WEIGHT)
        entry = _Entry._make(_ENTRY.unpack(_piece(file, begin, _ENTRY.size, stop)))
        header, length = entry.header, entry.length
        if header < _ENTRY.size or header > _LONGEST_HEADER or header + length > stop - begin:
            raise MalformedError(
                f"an entry of {header} and {length} bytes at {begin}, where {stop - begin} are left"
            )
        for at, item in _joined(file, begin, entry) if entry.kind == _SEVERAL else [(begin, entry)]:
            code.append(Code(item.kind, item.number, _suffix(item.flags)))
            source = source or _source(file, at, item, begin + header)
        begin += header + length
    return FatBinary(position, source, tuple(code))


def _joined(file: BoundedFile, begin: int, entry: _Entry) -> Iterator[tuple[int, _Entry]]:
    """Entries that are compressed together (``nvcc -concat``): a table in the header says what each is."""
    at, stop = begin + entry.options, begin + entry.header
    count, size = _TEXT.unpack(_piece(file, at, _TEXT.size, stop))
    if entry.options < _ENTRY.size or size > stop - at:
        raise MalformedError(f"a table of {size} bytes at {at}, where {stop - at} are left")
    stop, at = at + size, at + _TEXT.size
    for _ in range(count):
        file.step(_WEIGHT)
        row = _Entry._make(_ENTRY.unpack(_piece(file, at, _ENTRY.size, stop)))
        yield at, row
        at += _row_size(file, at, stop, row)
    if at != stop:
        raise MalformedError(f"a table of {count} entries is {stop - at} bytes too long")


def _row_size(file: BoundedFile, at: int, stop: int, row: _Entry) -> int:
    """Bytes of one row of the table: the fixed part, then texts, each with its NUL and filled up to 8."""
    texts = [(row.name_at, row.name_size)] if row.name_at else []
    if row.options:
        texts.append(_TEXT.unpack(_piece(file, at + row.options, _TEXT.size, stop)))
    end = max([_ENTRY.size, *(place + length + 1 for place, length in texts)])
    return end + -end % 8


def _suffix(flags: int) -> str:
    if flags & _ACCELERATED:
        return "a"
    return "f" if flags & _FAMILY else ""


def _source(file: BoundedFile, at: int, entry: _Entry, stop: int) -> str:
    """The name that an entry has for what it was compiled from."""
    if not entry.name_size:
        return ""
    if entry.name_size > _LONGEST_NAME:
        raise MalformedError(f"a name of {entry.name_size} bytes")
    return escaped(_piece(file, at + entry.name_at, entry.name_size, stop))


def _piece(file: BoundedFile, position: int, size: int, end: int) -> bytes:
    if position + size > end:
        raise MalformedError(f"{size} bytes wanted at {position}, where {max(end - position, 0)} are left")
    return file.at(position, size)
