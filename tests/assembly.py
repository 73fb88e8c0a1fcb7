"""Functions in assembly, where torch keeps its settings, and why nothing is read out of them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.arm_library import code_library
from tests.torch_like import compiled
from torchbuild.inspection.bounded import BoundedFile
from torchbuild.inspection.likeness_settings import SettingsUnreadError, build_settings

__all__ = ["assembled", "unread"]


def assembled(code: str) -> bytes:
    """The bytes of x86-64 assembly in Intel's spelling."""
    content = compiled(f'asm(R"(.intel_syntax noprefix\n.section .made, "a"\n{code}\n.att_syntax)");')
    sections, count = struct.unpack_from("<Q", content, 40)[0], struct.unpack_from("<H", content, 60)[0]
    rows = [struct.unpack_from("<IIQQQQ", content, sections + 64 * row) for row in range(count)]
    names = rows[struct.unpack_from("<H", content, 62)[0]][4]
    made = next(row for row in rows if content[names + row[0] :].startswith(b".made\0"))
    return content[made[4] : made[4] + made[5]]


def unread(folder: Path, code: bytes, machine: int) -> str:
    """Why the settings are not read out of a function of these bytes."""
    path = folder / "lib.so"
    path.write_bytes(code_library(code, machine))
    with path.open("rb", buffering=0) as stream, pytest.raises(SettingsUnreadError) as caught:
        build_settings(BoundedFile(stream.fileno()))
    return str(caught.value)
