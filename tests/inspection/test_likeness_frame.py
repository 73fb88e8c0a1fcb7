"""The memory of a function that is followed on paper: what it costs is counted."""

from __future__ import annotations

import time
from pathlib import Path

from tests.arm_library import X86_64
from tests.assembly import assembled, unread

A_WHILE_S = 30
"""Uncounted it would be minutes; counted it is a second, or some where the machine is busy."""


def test_copies_without_end_are_counted(tmp_path: Path) -> None:
    """A few instructions that copy a lot, again and again, keep nobody busy."""
    begun = time.monotonic()
    code = "1: lea rsi, [rsp-8]; lea rdi, [rsp-0x20000]; mov ecx, 0xffff; rep movsb; jmp 1b"

    assert "more than any table" in unread(tmp_path, assembled(code), X86_64)
    assert time.monotonic() - begun < A_WHILE_S


def test_strings_without_end_cost_no_more(tmp_path: Path) -> None:
    """Thousands of objects that all point to one long text are not all looked through."""
    text = 0xFFFF
    code = (
        f"lea rdi, [rsp-0x80]; lea rax, [rdi+16]; mov [rdi], rax; lea rsi, [rip+text]; lea rdx, [rsi+{text}];"
        "call text; mov rax, [rsp-0x80]; lea rcx, [rsp-0xc000]; 1: mov [rcx], rax;"
        f"mov qword ptr [rcx+8], {text}; add rcx, 16; cmp rcx, rsp; jb 1b;"
        "mov edi, 0x100000; call text; mov edi, 0x100000; call text;"
        f"text: .fill {text}, 1, 0x61; .byte 0"
    )
    begun = time.monotonic()

    assert "more than any table" in unread(tmp_path, assembled(code), X86_64)
    assert time.monotonic() - begun < A_WHILE_S
