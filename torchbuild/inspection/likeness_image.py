"""A shared library as the loader would lay it: bytes by address, and where a name of it begins.

Only what the loader reads is read, so that a stripped library hides nothing; nothing of it is loaded or run.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from torchbuild.inspection.bounded import BoundedFile, MalformedError

__all__ = ["Image", "Part", "Symbol"]

_MAGIC = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_TAG = struct.Struct("<qQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_HASH = struct.Struct("<IIII")
_LOAD, _DYNAMIC = 1, 2
_WRITABLE = 2
_SYMTAB, _STRTAB, _GNU_HASH = 6, 5, 0x6FFFFEF5
_MOST_SEGMENTS = 256
_MOST_TAGS = 4096
_MOST_IN_BUCKET = 4096
_LONGEST_TEXT = 1 << 16
_TEXT_STEP = 256
_MACHINES = {62: "x86_64", 183: "aarch64"}


class Part(NamedTuple):
    """What the loader maps in one go."""

    address: int
    position: int
    size: int
    """Bytes in the file."""
    whole: int
    """Bytes in memory: what the file does not hold is zero."""
    is_writable: bool


class Symbol(NamedTuple):
    """Where a name of the library is."""

    address: int
    size: int


class Image:
    """One library.

    Attributes:
        machine: ``x86_64``, ``aarch64``, or a number.
        parts: what is mapped, in the order of the file.
    """

    def __init__(self, file: BoundedFile) -> None:
        """Read its headers.

        Raises:
            MalformedError: it is no 64-bit little-endian library, or not what its headers say.
        """
        self._file = file
        header = file.at(0, _HEADER.size)
        if not header.startswith(_MAGIC):
            raise MalformedError("no 64-bit little-endian ELF file")
        _, machine, _, _, at, _, _, _, step, count, *_ = _HEADER.unpack(header)
        if count > _MOST_SEGMENTS or (count and step != _SEGMENT.size):
            raise MalformedError(f"{count} program headers of {step} bytes")
        self.machine = _MACHINES.get(machine, str(machine))
        segments = [_SEGMENT.unpack(file.at(at + n * step, step)) for n in range(count)]
        self.parts = tuple(
            Part(address, position, size, whole, bool(flags & _WRITABLE))
            for kind, flags, position, address, _, size, whole, _ in segments
            if kind == _LOAD
        )
        tables = [(position, size) for kind, _, position, _, _, size, *_ in segments if kind == _DYNAMIC]
        self._tags = self._read_tags(*tables[0]) if tables else {}

    def part(self, address: int) -> Part | None:
        """What is mapped at an address; None for nothing."""
        return next(
            (item for item in self.parts if item.address <= address < item.address + item.whole), None
        )

    def bytes_at(self, address: int, size: int) -> bytes:
        """Bytes as they are before anything ran; what the file does not hold is zero.

        Raises:
            MalformedError: nothing is mapped there.
        """
        part = self.part(address)
        if part is None or address + size > part.address + part.whole:
            raise MalformedError(f"nothing is mapped at {address:#x}")
        held = max(0, min(size, part.address + part.size - address))
        piece = self._file.at(part.position + address - part.address, held) if held else b""
        return piece + bytes(size - held)

    def text_at(self, address: int) -> bytes:
        """A text that ends with NUL, without it.

        Raises:
            MalformedError: nothing is mapped there, or it has no end.
        """
        part = self.part(address)
        if part is None:
            raise MalformedError(f"nothing is mapped at {address:#x}")
        found = bytearray()
        while len(found) < _LONGEST_TEXT:
            left = part.address + part.whole - address - len(found)
            piece = self.bytes_at(address + len(found), min(_TEXT_STEP, left)) if left > 0 else b""
            text, end, _ = piece.partition(b"\0")
            found += text
            if end:
                return bytes(found)
            if not piece:
                break
        raise MalformedError(f"a text at {address:#x} has no end")

    def symbol(self, name: str) -> Symbol | None:
        """A name that the library defines for others; None where it does not.

        Raises:
            MalformedError: its tables are not what its headers say.
        """
        if not {_SYMTAB, _STRTAB, _GNU_HASH} <= self._tags.keys():
            return None
        wanted, key = name.encode(), _gnu_hash(name)
        table = self._tags[_GNU_HASH]
        buckets, first, blooms, _ = _HASH.unpack(self.bytes_at(table, _HASH.size))
        if not buckets:
            return None
        at_buckets = table + _HASH.size + blooms * 8
        number = self._word(at_buckets + key % buckets * 4)
        if number < first:
            return None
        chains = at_buckets + buckets * 4
        for _ in range(_MOST_IN_BUCKET):
            self._file.step()
            link = self._word(chains + (number - first) * 4)
            if link | 1 == key | 1:
                found = self._defined(number, wanted)
                if found is not None:
                    return found
            if link & 1:
                return None
            number += 1
        raise MalformedError(f"more than {_MOST_IN_BUCKET} names in one bucket")

    def _defined(self, number: int, wanted: bytes) -> Symbol | None:
        at = self._tags[_SYMTAB] + number * _SYMBOL.size
        name, _, _, section, address, size = _SYMBOL.unpack(self.bytes_at(at, _SYMBOL.size))
        text = self.bytes_at(self._tags[_STRTAB] + name, len(wanted) + 1)
        return Symbol(address, size) if section and text == wanted + b"\0" else None

    def _word(self, address: int) -> int:
        return int.from_bytes(self.bytes_at(address, 4), "little")

    def _read_tags(self, position: int, size: int) -> dict[int, int]:
        tags: dict[int, int] = {}
        for number in range(min(size // _TAG.size, _MOST_TAGS)):
            tag, value = _TAG.unpack(self._file.at(position + number * _TAG.size, _TAG.size))
            if not tag:
                break
            tags.setdefault(tag, value)
        return tags


def _gnu_hash(name: str) -> int:
    value = 5381
    for char in name.encode():
        value = (value * 33 + char) & 0xFFFFFFFF
    return value
