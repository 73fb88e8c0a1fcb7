"""Sections of an ELF file by name, wherever it begins: a file of its own, or a member of a static library.

pyelftools makes an object of each header it meets, and an object file of a template library has tens of
thousands. Here the few wanted ones are picked, and the rest is stepped over.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from typing import NamedTuple

from torchbuild.inspection.bounded import BoundedFile, MalformedError

__all__ = ["ELF_MAGIC", "Elf", "Section", "read_sections"]

ELF_MAGIC = b"\x7fELF"
CUDA_MACHINE = 190

_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_AT_ONCE = 1024
_EXTENDED = 0xFFFF
_NOBITS = 8
_OBJECT = 1
_LONGEST_NAME = 24
_MOST_WANTED = 64


class Section(NamedTuple):
    """One section."""

    name: bytes
    address: int
    position: int
    """Where it lies in the whole file."""
    size: int


class Elf(NamedTuple):
    """What is needed of the file's own header, and the wanted sections."""

    machine: int
    is_object: bool
    """Not linked yet."""
    sections: tuple[Section, ...]

    def named(self, name: bytes) -> tuple[Section, ...]:
        """Those of one name."""
        return tuple(section for section in self.sections if section.name == name)


def read_sections(file: BoundedFile, start: int, size: int, wanted: Container[bytes]) -> Elf:
    """The wanted sections of the ELF file that lies at `start`.

    Raises:
        MalformedError: it is for 32 bits or big-endian, has no sections, or is not what its headers say.
    """
    header = file.at(start, _HEADER.size)
    if header[4:6] != b"\x02\x01":
        raise MalformedError("an ELF file that is not 64-bit and little-endian")
    kind, machine, _, _, _, at, _, _, _, _, step, count, names = _HEADER.unpack(header)
    if machine == CUDA_MACHINE:
        raise MalformedError("device code itself (a cubin), not a file that holds some")
    if at == 0:
        raise MalformedError("no section headers: what it holds cannot be told")
    if step != _SECTION.size:
        raise MalformedError(f"section headers of {step} bytes")
    table = _Table(file, start, size, at)
    table.find_names(count, names)
    return Elf(machine, kind == _OBJECT, tuple(table.picked(wanted)))


class _Table:
    """The section headers of one ELF file."""

    def __init__(self, file: BoundedFile, start: int, size: int, at: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, at
        self._count = self._names_at = self._names_size = 0

    def find_names(self, count: int, names: int) -> None:
        """How many sections there are, and where their names lie, as the file's own header has it."""
        first = self._header(0)
        # more sections than the file's own header can count stand in the first section's
        self._count = count or first[5]
        names = first[6] if names == _EXTENDED else names
        end = self._at + self._count * _SECTION.size
        if end > self._size:
            raise MalformedError(f"cut off: {self._size} bytes are there, its sections end at {end}")
        if names >= self._count:
            raise MalformedError(f"names of sections in section {names} of {self._count}")
        self._names_at, self._names_size = self._header(names)[4:6]

    def picked(self, wanted: Container[bytes]) -> Iterator[Section]:
        """Wanted sections; together they are no larger than the file, so that none is read twice."""
        total = found = 0
        for name_at, kind, _, address, offset, length, *_ in self._headers():
            name = self._name(name_at) if kind else b""
            if name not in wanted:
                continue
            if kind == _NOBITS:
                raise MalformedError(f"{name.decode()} was taken out of it: a file for debuggers alone")
            total, found = total + length, found + 1
            if offset + length > self._size or total > self._size or found > _MOST_WANTED:
                raise MalformedError(f"{name.decode()} does not fit into the file")
            yield Section(name, address, self._start + offset, length)

    def _headers(self) -> Iterator[tuple[int, ...]]:
        for begin in range(0, self._count, _AT_ONCE):
            some = min(_AT_ONCE, self._count - begin) * _SECTION.size
            for header in _SECTION.iter_unpack(self._piece(self._at + begin * _SECTION.size, some)):
                self._file.step()
                yield header

    def _header(self, number: int) -> tuple[int, ...]:
        return _SECTION.unpack(self._piece(self._at + number * _SECTION.size, _SECTION.size))

    def _name(self, at: int) -> bytes:
        """The beginning of a section's name: enough to know a wanted one."""
        longest = min(_LONGEST_NAME, self._names_size - at)
        if longest <= 0:
            raise MalformedError("a section's name lies outside the names")
        return self._piece(self._names_at + at, longest).partition(b"\0")[0]

    def _piece(self, at: int, size: int) -> bytes:
        if at + size > self._size:
            raise MalformedError(f"cut off: {self._size} bytes are there, its headers name {at + size}")
        return self._file.at(self._start + at, size)
