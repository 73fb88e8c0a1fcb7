"""Which GPU code lies in an object, a static library, a shared library or a program.

Only headers are read: no file is loaded as a whole, nothing in it is decompressed, and no tool is started.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from torchbuild.inspection.ar_members import AR_MAGIC, THIN_MAGIC, ar_members
from torchbuild.inspection.bounded import BoundedFile, MalformedError
from torchbuild.inspection.elf_sections import ELF_MAGIC, Elf, Section, read_sections
from torchbuild.inspection.fatbin import Code, FatBinary, fat_binaries
from torchbuild.inspection.text import shown

__all__ = ["CodeObject", "GpuCode", "GpuCodeError", "gpu_code"]

_READY, _TO_LINK, _REGISTER = b".nv_fatbin", b"__nv_relfatbin", b".nvFatBinSegment"
_RELOCATIONS = b".rela.dyn"
_WANTED = {_READY, _TO_LINK, _REGISTER, _RELOCATIONS}

_WRAPPER = struct.Struct("<IIQQ")
_WRAPPER_MAGIC = 0x466243B1
_LINKED = 2
_RELA = struct.Struct("<QQQ")
_AT_ONCE = 1024


class GpuCodeError(Exception):
    """The file is no ELF file and no static library, or is not what its own headers say."""


@dataclass(frozen=True, slots=True)
class CodeObject:
    """The GPU code of one compiled file, or of one device link."""

    name: str
    """The source file where the compiler left its name (``-g``), else where it is in the file: ``#3``."""
    member: str
    """The member of a static library; empty in other files."""
    sass: tuple[str, ...]
    """Machine code, sorted, one for each entry: ``sm_75``, ``sm_90a``."""
    ptx: tuple[str, ...]
    """PTX, sorted, one for each entry: ``compute_90``."""
    other: tuple[str, ...] = ()
    """What is neither: ``lto_90``, or ``kind 64: 90`` where we do not know the kind."""
    is_linked: bool = False
    """Made by a device link, which leaves no PTX."""
    is_relocatable: bool = False
    """Made for a device link (``-rdc=true``): it does not run as it is."""

    @property
    def place(self) -> str:
        """What a person finds it by."""
        return f"{self.member} {self.name}" if self.member else self.name


@dataclass(frozen=True, slots=True)
class GpuCode:
    """All GPU code of one file."""

    path: str
    """What the file is called."""
    objects: tuple[CodeObject, ...]
    """In the order of the file."""
    read_bytes: int = 0
    """How much of the file was read."""

    @property
    def effective(self) -> tuple[CodeObject, ...]:
        """What runs: where a device link was done, its inputs lie in the file and are never loaded."""
        ready = tuple(item for item in self.objects if not item.is_relocatable)
        return ready if any(item.is_linked for item in ready) else self.objects

    @property
    def sass(self) -> tuple[str, ...]:
        """All machine code that runs, each once, sorted."""
        return _unique(item.sass for item in self.effective)

    @property
    def ptx(self) -> tuple[str, ...]:
        """All PTX that counts, each once, sorted."""
        return _unique(item.ptx for item in self.effective)


def gpu_code(path: Path, name: str = "") -> GpuCode:
    """The GPU code of a file; none where it has none.

    Args:
        path: where the file lies now.
        name: what it is called in messages; its path unless given.

    Raises:
        GpuCodeError: it is no ELF file and no static library, is cut off or malformed, or cannot be read.
    """
    name = name or str(path)
    try:
        if not path.is_file():
            raise MalformedError("no file")  # noqa: TRY301  a pipe must not be opened, which would wait
        with path.open("rb", buffering=0) as stream:
            file = BoundedFile(stream.fileno())
            objects = tuple(_objects(file))
    except MalformedError as error:
        raise GpuCodeError(shown(f"{name}: {error}")) from error
    except OSError as error:
        raise GpuCodeError(shown(f"{name}: {error.strerror or error}")) from error
    return GpuCode(name, objects, file.read_bytes)


def _objects(file: BoundedFile) -> Iterator[CodeObject]:
    magic = file.at(0, min(len(AR_MAGIC), file.size))
    if magic.startswith(ELF_MAGIC):
        yield from _of_elf(file, 0, file.size, "")
    elif magic == THIN_MAGIC:
        raise MalformedError("a thin archive: its members lie elsewhere")
    elif magic == AR_MAGIC:
        for member in ar_members(file):
            if member.size >= len(ELF_MAGIC) and file.at(member.position, len(ELF_MAGIC)) == ELF_MAGIC:
                try:
                    yield from _of_elf(file, member.position, member.size, member.name)
                except MalformedError as error:
                    raise MalformedError(f"{member.name}: {error}") from error
    else:
        raise MalformedError("neither an ELF file nor a static library")


def _of_elf(file: BoundedFile, start: int, size: int, member: str) -> Iterator[CodeObject]:
    elf = read_sections(file, start, size, _WANTED)
    linked = _linked(file, elf)
    found = [
        (section, fat)
        for section in elf.sections
        if section.name in (_READY, _TO_LINK)
        for fat in fat_binaries(file, section.position, section.size)
    ]
    alone = sum(section.name == _READY for section, _ in found) == 1
    for number, (section, fat) in enumerate(found, start=1):
        item = _object(fat, member, number)
        if section.name == _TO_LINK:
            yield replace(item, is_relocatable=True)
            continue
        address = section.address + fat.position - section.position
        yield replace(item, is_linked=bool(linked) if elf.is_object and alone else address in linked)


def _object(fat: FatBinary, member: str, number: int) -> CodeObject:
    return CodeObject(
        name=fat.source or f"#{number}",
        member=member,
        sass=_names(item for item in fat.code if item.is_sass),
        ptx=_names(item for item in fat.code if item.is_ptx),
        other=_names(item for item in fat.code if not item.is_sass and not item.is_ptx),
    )


def _linked(file: BoundedFile, elf: Elf) -> set[int]:
    """Addresses of containers that a device link made: each container is registered with a word on that."""
    wrappers: dict[int, int] = {}
    for section in elf.named(_REGISTER):
        for at in range(0, section.size - _WRAPPER.size + 1, _WRAPPER.size):
            file.step()
            magic, version, target, _ = _WRAPPER.unpack(file.at(section.position + at, _WRAPPER.size))
            if magic != _WRAPPER_MAGIC:
                raise MalformedError(f"{_REGISTER.decode()} holds something else at {at}")
            if version == _LINKED:
                wrappers[section.address + at + 8] = target
    if any(not target for target in wrappers.values()) and not elf.is_object:
        # some linkers leave the place empty and the address to the loader
        for section in elf.named(_RELOCATIONS):
            wrappers |= _relocated(file, section, wrappers)
    return set(wrappers.values())


def _relocated(file: BoundedFile, section: Section, places: dict[int, int]) -> dict[int, int]:
    """What the loader writes into these places."""
    found: dict[int, int] = {}
    count = section.size // _RELA.size
    for begin in range(0, count, _AT_ONCE):
        some = min(_AT_ONCE, count - begin)
        file.step(some // 32 + 1)
        table = file.at(section.position + begin * _RELA.size, some * _RELA.size)
        found |= {place: value for place, _, value in _RELA.iter_unpack(table) if place in places}
    return found


def _names(code: Iterator[Code]) -> tuple[str, ...]:
    return tuple(item.name for item in sorted(code))


def _unique(lists: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted(set(chain.from_iterable(lists)), key=_by_number))


def _by_number(name: str) -> tuple[int, str]:
    digits = "".join(filter(str.isdigit, name))
    return int(digits or 0), name
