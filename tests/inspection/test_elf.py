"""ELF files are read as the loader reads them, and hostile ones within bounds."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from torchbuild.inspection.elf import read_elf
from torchbuild.inspection.facts import ElfFacts


def _read(tmp_path: Path, content: bytes, name: str = "torch/lib/libx.so") -> ElfFacts:
    path = tmp_path / "file"
    path.write_bytes(content)
    return read_elf(path, name=name, sha256="0" * 64, size=len(content))


def test_everything_the_loader_reads_is_read(tmp_path: Path, make_elf: Callable[..., bytes]) -> None:
    """Soname, needs, both kinds of run path, version nodes and machine."""
    facts = _read(tmp_path, make_elf(soname="libx.so.1", needed=("liby.so",), runpath="$ORIGIN:$ORIGIN/lib"))

    assert (facts.kind, facts.machine, facts.soname, facts.problem) == ("library", "x86_64", "libx.so.1", "")
    assert "liby.so" in facts.needed
    assert (facts.runpath, facts.rpath) == (("$ORIGIN", "$ORIGIN/lib"), ())
    assert _read(tmp_path, make_elf(rpath="$ORIGIN/a")).rpath == ("$ORIGIN/a",)


def test_missing_section_headers_hide_nothing(tmp_path: Path, make_elf: Callable[..., bytes]) -> None:
    """A file without section headers loads, so it is read all the same."""
    content = bytearray(make_elf(needed=("liby.so",), runpath="/torchbuild/lib"))
    content[40:48] = bytes(8)  # e_shoff
    content[60:64] = bytes(4)  # e_shnum, e_shstrndx

    facts = _read(tmp_path, bytes(content))

    assert facts.runpath == ("/torchbuild/lib",)
    assert "liby.so" in facts.needed


@pytest.mark.parametrize(
    ("name", "program", "kind"),
    [
        ("torch/bin/tool", True, "program"),
        ("torch/lib/libx.so", False, "library"),
        ("plugin", False, "library"),
    ],
)
def test_programs_and_libraries_are_told_apart(
    tmp_path: Path, make_elf: Callable[..., bytes], name: str, program: bool, kind: str
) -> None:
    """What is started and what is loaded are different things."""
    assert kind == _read(tmp_path, make_elf(program=program), name).kind


def test_version_nodes_are_collected(tmp_path: Path, make_elf: Callable[..., bytes]) -> None:
    """What a file asks of the C library is seen."""
    content = make_elf(source='#include <stdio.h>\nint f(void) { return puts("x"); }')

    assert any(node.startswith("GLIBC_2.") for node in _read(tmp_path, content).versions)


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (56, struct.pack("<H", 0xFFFF)),  # e_phnum
        (54, struct.pack("<H", 0)),  # e_phentsize
        (32, struct.pack("<Q", 2**64 - 1)),  # e_phoff
        (60, struct.pack("<H", 0xFFFF)),  # e_shnum
        (40, struct.pack("<Q", 2**63)),  # e_shoff
        (4, b"\x07"),  # class
    ],
    ids=[
        "many segments",
        "segments of nothing",
        "segments nowhere",
        "many sections",
        "sections nowhere",
        "class",
    ],
)
def test_headers_that_lie_are_a_problem(
    tmp_path: Path, make_elf: Callable[..., bytes], offset: int, value: bytes
) -> None:
    """Counts and places that cannot be end in a problem, at once."""
    content = bytearray(make_elf())
    content[offset : offset + len(value)] = value
    begin = time.monotonic()

    assert _read(tmp_path, bytes(content)).problem
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("seed", range(300))
def test_random_damage_never_raises(tmp_path: Path, make_elf: Callable[..., bytes], seed: int) -> None:
    """Whatever bytes are wrong, the outcome is facts, with a problem where they cannot be had."""
    random = Random(seed)  # noqa: S311  a seed, so that a failure comes back
    content = bytearray(make_elf(soname="libx.so", needed=("liby.so",), runpath="$ORIGIN"))
    reach = (64, 1024, len(content))[seed % 3]
    for _ in range(random.randint(1, 20)):
        content[random.randrange(reach)] = random.choice([0, 1, 0x7F, 0xFF, random.randrange(256)])

    facts = _read(tmp_path, bytes(content[: random.randint(1, len(content))] if seed % 7 == 0 else content))

    assert all(text.isprintable() for text in (*facts.needed, *facts.runpath, facts.soname, facts.problem))
