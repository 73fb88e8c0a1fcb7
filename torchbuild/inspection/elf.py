"""One ELF file, read with bounds: what it is, what it needs, where it looks.

pyelftools knows the structures; the walking is ours, because its own iterators follow counts and links of a
hostile file as far as they lead. Only what the loader itself reads is read (program headers, the dynamic
table, version needs), so that a file without section headers hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from torchbuild.inspection.facts import ElfFacts, ElfKind
from torchbuild.inspection.text import escaped, shown

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

__all__ = ["MAGIC", "read_elf"]

MAGIC = b"\x7fELF"

_MOST_SEGMENTS = 256
_MOST_TAGS = 4096
_MOST_VERSIONS = 4096
_LONGEST_STRING = 4096

_BITS = 64
_MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}
_DEVICES = {"EM_CUDA", "EM_AMDGPU"}
_TAGS = {"DT_NEEDED", "DT_SONAME", "DT_RPATH", "DT_RUNPATH", "DT_STRTAB", "DT_VERNEED", "DT_VERNEEDNUM"}


class _MalformedError(Exception):
    """The file is not what its own headers say; never leaves this module."""


def read_elf(path: Path, *, name: str, sha256: str, size: int) -> ElfFacts:
    """What the loader would read of the file; `problem` is set where it is cut off or malformed.

    Args:
        path: where the file lies now.
        name: its name in the wheel.
        sha256: digest of its bytes.
        size: its bytes.
    """
    from elftools.common.exceptions import ELFError  # noqa: PLC0415  only where there is an ELF file
    from elftools.construct import ConstructError  # noqa: PLC0415

    facts = ElfFacts(path=name, sha256=sha256, size=size)
    malformed = (_MalformedError, ELFError, ConstructError, ArithmeticError, LookupError, ValueError)
    try:
        with path.open("rb") as stream:
            return facts.model_copy(update=_Reader(stream, name, size).facts())
    except malformed as error:
        return facts.model_copy(update={"problem": shown(str(error) or type(error).__name__)})
    except OSError as error:
        return facts.model_copy(update={"problem": shown(error.strerror or str(error))})


class _Reader:
    """The walk through one file."""

    def __init__(self, stream: BinaryIO, name: str, size: int) -> None:
        from elftools.elf.elffile import ELFFile  # noqa: PLC0415

        self._stream = stream
        self._name = name
        self._size = size
        self._elf: ELFFile = ELFFile(stream)
        self._segments = list(self._read_segments())

    def facts(self) -> dict[str, object]:
        """Fields of ElfFacts."""
        machine = str(self._elf["e_machine"])
        found: dict[str, object] = {"machine": self._machine(machine), "kind": self._kind(machine)}
        if found["kind"] in ("library", "program"):
            self._check_length()
            found |= self._dynamic_facts()
        return found

    def _machine(self, machine: str) -> str:
        name = _MACHINES.get(machine, machine)
        unusual = [f"{self._elf.elfclass}-bit"] if self._elf.elfclass != _BITS else []
        unusual += [] if self._elf.little_endian else ["big-endian"]
        return " ".join((name, *unusual))

    def _kind(self, machine: str) -> ElfKind:
        if machine in _DEVICES:
            return "device code"
        kind = self._elf["e_type"]
        if kind not in ("ET_DYN", "ET_EXEC"):
            return "object"
        # a few libraries can be started too; the name tells what they are for
        started = kind == "ET_EXEC" or any(segment["p_type"] == "PT_INTERP" for segment in self._segments)
        return "program" if started and ".so" not in self._name.rpartition("/")[2] else "library"

    def _read_segments(self) -> Iterator[Any]:
        header = self._elf.header
        count, step = header["e_phnum"], header["e_phentsize"]
        if count > _MOST_SEGMENTS:
            raise _MalformedError(f"{count} program headers; a library has about ten")
        if count and step < self._elf.structs.Elf_Phdr.sizeof():
            raise _MalformedError(f"program headers of {step} bytes")
        for number in range(count):
            yield self._parse(self._elf.structs.Elf_Phdr, header["e_phoff"] + number * step)

    def _check_length(self) -> None:
        """What the headers promise must be there: a copy that was cut off loads nowhere."""
        ends = [segment["p_offset"] + segment["p_filesz"] for segment in self._segments]
        header = self._elf.header
        if header["e_shoff"]:
            ends.append(header["e_shoff"] + header["e_shnum"] * header["e_shentsize"])
        if max(ends, default=0) > self._size:
            raise _MalformedError(f"cut off: {self._size} bytes are there, its headers name {max(ends)}")

    def _dynamic_facts(self) -> dict[str, object]:
        tags = list(self._dynamic_tags())
        values = dict(tags)
        strings = self._offset(values["DT_STRTAB"]) if "DT_STRTAB" in values else None

        def texts(wanted: str) -> list[str]:
            if strings is None:
                return []
            return [self._string(strings + value) for tag, value in tags if tag == wanted]

        versions = self._versions(values, strings) if strings is not None else ()
        return {
            "needed": tuple(texts("DT_NEEDED")),
            "soname": "".join(texts("DT_SONAME")[-1:]),
            "rpath": _split(texts("DT_RPATH")),
            "runpath": _split(texts("DT_RUNPATH")),
            "versions": tuple(sorted(set(versions))),
        }

    def _dynamic_tags(self) -> Iterator[tuple[str, int]]:
        tables = [segment for segment in self._segments if segment["p_type"] == "PT_DYNAMIC"]
        if len(tables) > 1:
            raise _MalformedError(f"{len(tables)} dynamic tables; the loader would take one of them")
        entry = self._elf.structs.Elf_Dyn
        for table in tables:
            count = table["p_filesz"] // entry.sizeof()
            if count > _MOST_TAGS:
                raise _MalformedError(f"{count} dynamic tags; a library has about fifty")
            for number in range(count):
                tag = self._parse(entry, table["p_offset"] + number * entry.sizeof())
                if tag["d_tag"] == "DT_NULL":
                    return
                if tag["d_tag"] in _TAGS:
                    yield tag["d_tag"], tag["d_val"]

    def _versions(self, values: dict[str, int], strings: int) -> Iterator[str]:
        """Every version node of every library it needs."""
        if "DT_VERNEED" not in values:
            return
        budget = _MOST_VERSIONS
        position = self._offset(values["DT_VERNEED"])
        for _ in range(min(values.get("DT_VERNEEDNUM", 0), _MOST_VERSIONS)):
            need = self._parse(self._elf.structs.Elf_Verneed, position)
            node_position = position + need["vn_aux"]
            for _ in range(need["vn_cnt"]):
                budget -= 1
                if budget < 0:
                    raise _MalformedError(f"more than {_MOST_VERSIONS} version nodes")
                node = self._parse(self._elf.structs.Elf_Vernaux, node_position)
                yield self._string(strings + node["vna_name"])
                node_position += node["vna_next"]
            position += need["vn_next"]

    def _offset(self, address: int) -> int:
        """Where a virtual address lies in the file."""
        for segment in self._segments:
            start = segment["p_vaddr"]
            if segment["p_type"] == "PT_LOAD" and start <= address < start + segment["p_filesz"]:
                return int(segment["p_offset"]) + address - int(start)
        raise _MalformedError(f"address {address:#x} lies in no part of the file that is loaded")

    def _parse(self, structure: Any, position: int) -> Any:  # noqa: ANN401  pyelftools is not typed here
        from elftools.common.utils import struct_parse  # noqa: PLC0415

        return struct_parse(structure, self._stream, stream_pos=position)

    def _string(self, position: int) -> str:
        self._stream.seek(position)
        text, end, _ = self._stream.read(_LONGEST_STRING).partition(b"\0")
        if not end:
            raise _MalformedError(f"a name at {position:#x} has no end")
        return escaped(text)


def _split(paths: list[str]) -> tuple[str, ...]:
    """Run paths as the loader splits them; an empty part, which means the current directory, stays."""
    return tuple(part for path in paths for part in path.split(":")) if any(paths) else ()
