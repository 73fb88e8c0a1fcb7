"""Containers of GPU code, by the bytes that nvcc wrote."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from torchbuild.inspection.bounded import BoundedFile
from torchbuild.inspection.fatbin import Code, FatBinary, fat_binaries

DATA = Path(__file__).parents[1] / "data" / "gpu_code"
MAGIC = b"\x50\xed\x55\xba"


def first(name: str) -> FatBinary:
    """The container of an object that has one."""
    path = DATA / name
    content = path.read_bytes()
    at = content.index(MAGIC)
    size = 16 + struct.unpack_from("<Q", content, at + 8)[0]
    with path.open("rb", buffering=0) as stream:
        (found,) = fat_binaries(BoundedFile(stream.fileno()), at, size)
    assert found.position == at
    return found


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("12.4-plain.o", ["sm_75", "sm_90", "compute_90"]),
        ("12.4-own-chip.o", ["sm_90a", "compute_90a"]),
        ("12.4-lto.o", ["sm_90", "lto_90"]),
        ("13.0-family.o", ["sm_100f", "sm_120f", "compute_120f"]),
    ],
)
def test_each_entry_is_told_by_its_own_header(name: str, wanted: list[str]) -> None:
    """Number, kind and suffix: an entry that is compressed says it outside."""
    assert sorted(code.name for code in first(name).code) == sorted(wanted)


def test_joined_entries_are_told_one_by_one() -> None:
    """`nvcc -concat` compresses entries of several architectures together."""
    assert [code.name for code in first("13.5-joined.o").code if code.is_sass] == [
        "sm_75",
        "sm_90",
        "sm_100f",
        "sm_120f",
    ]


def test_kinds_are_machine_code_or_ptx_or_neither() -> None:
    """What nobody here knows is neither."""
    assert (Code(2, 90, "").is_sass, Code(2, 90, "").is_ptx) == (True, False)
    assert (Code(1, 90, "a").is_sass, Code(1, 90, "a").is_ptx) == (False, True)
    assert (Code(64, 90, "").is_sass, Code(64, 90, "").is_ptx) == (False, False)
    assert [Code(kind, 90, "a").name for kind in (1, 2, 8, 64)] == [
        "compute_90a",
        "sm_90a",
        "lto_90a",
        "kind 64: 90a",
    ]
