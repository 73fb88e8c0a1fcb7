"""A function that is followed on paper: what it says is what a processor would do, or it says nothing."""

from __future__ import annotations

import ctypes
import platform
import random
import struct
import sys
import time
from pathlib import Path

import pytest

from tests.arm_library import AARCH64, X86_64, code_library
from tests.assembly import assembled, unread
from tests.torch_like import compiled
from torchbuild.inspection.bounded import BoundedFile
from torchbuild.inspection.likeness_follower import Follower
from torchbuild.inspection.likeness_frame import Frame, Stop
from torchbuild.inspection.likeness_image import Image

NAME = "_ZN6caffe215GetBuildOptionsB5cxx11Ev"
BOTH_HALVES = "movups [rsp-64], xmm0; mov rax, [rsp-64]; mov rcx, [rsp-56]; lea rax, [rax+rcx*2]"
"""A number that both halves of a vector change."""
ALL_FOUR = (
    "vmovdqu [rsp-64], ymm0; mov rax, [rsp-64]; mov rcx, [rsp-56]; lea rax, [rax+rcx*2];"
    "mov rcx, [rsp-48]; lea rax, [rax+rcx*4]; mov rcx, [rsp-40]; lea rax, [rax+rcx*8]"
)
NUMBERS = (
    "movabs rax, 0x1122334455667788; mov [rsp-32], rax; movabs rax, 0x99aabbccddeeff01; mov [rsp-24], rax;"
    "mov [rsp-16], rax; movabs rax, 0x2468ace013579bdf; mov [rsp-8], rax;"
)
CONDITIONS = ("e", "ne", "b", "be", "a", "ae", "l", "le", "g", "ge")
SNIPPETS_ALONE = {
    "half": "mov rax, -1; mov eax, 5",
    "quarter": "mov rax, -1; mov ax, 5",
    "byte": "mov rax, -1; mov al, 5",
    "second byte": "mov rax, -1; mov ah, 5; movzx ecx, ah; add rax, rcx",
    "sign": "mov ecx, 0x80; movsx rax, cl; movsx ecx, cl; movsxd rcx, ecx; add rax, rcx",
    "stack": "push 7; push -2; pop rax; pop rcx; sub rax, rcx",
    "own stack": "push rsp; pop rax; sub rax, rsp",
    "address": "mov ecx, 3; lea rax, [rcx+rcx*8+5]; lea edx, [rax-64]; sub rax, rdx",
    "shift": "mov eax, 0x80000001; shl eax, 3; mov ecx, eax; shl rax, 40; shr rax, 2; add rax, rcx",
    "logic": "mov eax, 0x0ff0; and eax, -256; or eax, 3; xor eax, 0x55; xor ecx, ecx; add rax, rcx",
    "row": NUMBERS + "lea rsi, [rsp-32]; lea rdi, [rsp-60]; mov ecx, 3; rep movsq;"
    "mov rax, [rsp-44]; add rax, rcx; sub rax, rsi; add rax, rdi",
    "jump": "mov eax, 1; jmp 1f; mov eax, 2; 1: add eax, 4",
    "jump if": "mov eax, 1; sub eax, 2; jl 1f; mov eax, 9; 1: test eax, eax; jne 2f; mov eax, 8; 2: add eax, 3",
    "numbers": NUMBERS + "movq xmm0, [rsp-32]; movd xmm1, [rsp-24]; punpcklqdq xmm0, xmm1;" + BOTH_HALVES,
    "halves": NUMBERS + "movups xmm0, [rsp-32]; movhps xmm0, [rsp-8];" + BOTH_HALVES,
    "low half": NUMBERS + "movdqu xmm0, [rsp-32]; movq xmm0, xmm0;" + BOTH_HALVES,
    "both": NUMBERS + "movups xmm0, [rsp-32]; movups xmm1, [rsp-16]; movlhps xmm0, xmm1;" + BOTH_HALVES,
    "itself": NUMBERS + "movups xmm0, [rsp-32]; punpcklqdq xmm0, xmm0;" + BOTH_HALVES,
    "cleared": NUMBERS + "movups xmm0, [rsp-32]; pxor xmm0, xmm0;" + BOTH_HALVES,
    "to a number": NUMBERS + "movups xmm0, [rsp-32]; movq rax, xmm0; movd ecx, xmm0; sub rax, rcx",
}
WITH_AVX = {
    "wide": NUMBERS + "vmovdqu ymm0, [rsp-32];" + ALL_FOUR,
    "old spelling keeps": NUMBERS + "vmovdqu ymm0, [rsp-32]; movups xmm0, [rsp-24];" + ALL_FOUR,
    "new spelling clears": NUMBERS + "vmovdqu ymm0, [rsp-32]; vmovups xmm0, [rsp-24];" + ALL_FOUR,
    "low number": NUMBERS + "vmovdqu ymm0, [rsp-32]; vmovq xmm0, xmm0;" + ALL_FOUR,
    "joined": NUMBERS
    + "vmovups xmm1, [rsp-32]; vmovups xmm2, [rsp-16]; vpunpcklqdq xmm0, xmm1, xmm2;"
    + ALL_FOUR,
    "half joined": NUMBERS + "vmovups xmm1, [rsp-32]; vmovhps xmm0, xmm1, [rsp-8];" + ALL_FOUR,
    "cleared": NUMBERS + "vmovdqu ymm0, [rsp-32]; vpxor xmm0, xmm0, xmm0;" + ALL_FOUR,
    "shortened": NUMBERS + "vmovdqu ymm0, [rsp-32]; vzeroupper;" + ALL_FOUR,
}
REFUSED = {
    "cpuid": "xor eax, eax; cpuid",
    "thread": "mov rax, fs:[0]; lea rcx, [rip]; mov [rax], rcx",
    "thread's place": "mov fs:[0x1000], rax",
    "by a number": "mov ecx, 2; mov eax, 1; shl eax, cl",
    "other segment": "mov eax, ds",
    "old vectors": "movq mm0, rax",
    "locked": "lock add [rsp-8], eax",
    "short address": "lea rax, [ebx+4]",
    "popped place": "pop qword ptr [rsp+8]",
    "two by two": "vpunpcklqdq ymm0, ymm1, ymm2",
    "masked": "vmovups xmm0{k1}, [rsp-32]",
    "sixteen more": "vmovups xmm16, [rsp-32]",
    "double": "movsd xmm0, [rsp-32]",
    "overflow": "mov eax, 1; cmp eax, 2; jo 1f; 1: nop",
    "through a register": "lea rax, [rip]; jmp rax",
}


def compared() -> dict[str, str]:
    """Each condition after each comparison of some numbers, one bit each."""
    found = {}
    for size, register in (("byte", "cl"), ("short", "cx"), ("half", "ecx"), ("whole", "rcx")):
        code = "xor r8d, r8d;"
        for left, right in ((0, 0), (1, 2), (2, 1), (-1, 1), (1, -1), (-2, -1), (127, -128)):
            for condition in CONDITIONS:
                code += f"mov rcx, {left}; cmp {register}, {right}; set{condition} al; movzx eax, al;"
                code += "lea r8, [r8+r8*2]; add r8, rax;"
        found[f"compared {size}"] = code + "mov rax, r8"
    for name in ("test", "and", "or", "xor"):
        code = "xor r8d, r8d;"
        for left, right in ((0, 0), (1, 2), (-1, -1), (-1, 1)):
            for condition in CONDITIONS:
                code += f"mov rcx, {left}; mov rdx, {right}; {name} rcx, rdx; set{condition} al;"
                code += "movzx eax, al; lea r8, [r8+r8*2]; add r8, rax;"
        found[f"after {name}"] = code + "mov rax, r8"
    return found


SNIPPETS = SNIPPETS_ALONE | compared()


def library(folder: Path, snippets: dict[str, str]) -> tuple[Path, dict[str, str]]:
    """A library with a function for each, and their names."""
    names = {name: f"code_{number}" for number, name in enumerate(snippets)}
    source = "".join(
        f'asm(R"(.intel_syntax noprefix\n.globl {names[name]}\n.type {names[name]}, @function\n{names[name]}:\n'
        f'{code}\nret\n.size {names[name]}, .-{names[name]}\n.att_syntax)");\n'
        for name, code in snippets.items()
    )
    path = folder / "lib.so"
    path.write_bytes(compiled(source))
    return path, names


def followed(path: Path, name: str) -> int | str:
    """What the function returns, or why nobody knows."""
    with path.open("rb", buffering=0) as stream:
        image = Image(BoundedFile(stream.fileno()))
        symbol = image.symbol(name)
        assert symbol is not None
        follower = Follower(image, Frame(image, is_new_abi=True), symbol.address)
        try:
            for _ in range(10_000):
                follower.step()
        except Stop as stop:
            return str(stop) if follower.returned is None else follower.returned
    return "no end"


def done(path: Path, name: str) -> int:
    """What the processor says."""
    function = ctypes.CDLL(str(path))[name]
    function.restype = ctypes.c_uint64
    return int(function())


def has_avx() -> bool:
    """Whether this machine runs these instructions."""
    return " avx2 " in Path("/proc/cpuinfo").read_text(encoding="utf-8")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="its instructions are asked")
def test_what_is_followed_is_what_the_processor_does(tmp_path: Path) -> None:
    """Each known instruction leaves in registers and memory what it leaves there when it runs."""
    path, names = library(tmp_path, SNIPPETS)

    assert {name: followed(path, names[name]) for name in names} == {
        name: done(path, names[name]) for name in names
    }


@pytest.mark.skipif(platform.machine() != "x86_64" or not has_avx(), reason="needs AVX2")
def test_long_vectors_are_followed_as_they_run(tmp_path: Path) -> None:
    """In the newer spelling the rest of a register becomes zero, in the older one it stays."""
    path, names = library(tmp_path, WITH_AVX)

    assert {name: followed(path, names[name]) for name in names} == {
        name: done(path, names[name]) for name in names
    }


def test_what_is_not_known_well_is_not_followed(tmp_path: Path) -> None:
    """An instruction whose whole effect is not known ends the reading, with its name or a reason."""
    path, names = library(tmp_path, REFUSED)
    found = {name: followed(path, names[name]) for name in names}

    assert {name: reason for name, reason in found.items() if not isinstance(reason, str)} == {}
    assert "not known: cpuid" in str(found["cpuid"])
    assert "not known: movsd" in str(found["double"])
    assert "a place that is not known" in str(found["thread's place"])


MOVE_1, RETURN = 0xD2800020, 0xD65F03C0
ARM = {
    "movz, movk": ((0xD2A24680, 0xF2C00020, 0xF2866880), 0x1_1234_3344),
    "a half clears the other": ((0xD2E00020, 0x528000A0), 5),
    "a number below zero": ((0x92800000,), (1 << 64) - 1),
    "sums": ((MOVE_1, 0x91048C01, 0xCB010000), (1 << 64) - 0x123),
    "a shifted register": ((MOVE_1, 0x8B000C00), 9),
    "signed byte": ((0x52801000, 0x391FC3E0, 0x399FC3E0), (1 << 64) - 128),
    "byte": ((0x52803000, 0x391FC3E0, 0x395FC3E0), 0x80),
    "moved before": ((0xAA1F03E0, 0x910003E1, 0xD2800022, 0xF81F0C22, 0x910003E3, 0xCB010060), 16),
    "moved after": ((0x910003E1, 0xD2800022, 0xF8010422, 0x910003E3, 0xCB030020), 16),
    "a pair": ((MOVE_1, 0xD2800041, 0xA9BF03E1, 0xA8C10BE3, 0xCB020060), 1),
    "by an index": ((MOVE_1, 0xF90007E0, 0x910003E1, 0xD2800022, 0xF8627820), 1),
    "vectors": ((MOVE_1, 0xF90003E0, 0xF90007E0, 0x6F00E400, 0x3D8003E0, 0xF94007E0), 0),
    "a jump if less": ((MOVE_1, 0xF100081F, 0x54000043, RETURN, 0x91000800), 3),
    "a jump if a bit is set": ((MOVE_1, 0x37000040, RETURN, 0x91000800), 3),
    "a jump if zero": ((MOVE_1, 0xB4000040, RETURN, 0x91000800), 1),
}
ARM_REFUSED = {
    "a number from the code": 0x58000020,
    "half an index with its sign": 0xF862D820,
    "part of a register": 0x8B214000,
    "a shift to the right": 0x8B410C00,
    "a lane": 0x6E180420,
    "lanes": 0x4EA11C20,
    "a call through a register that jumps": 0xD61F0000,
    "a barrier": 0xD5033BBF,
    "system": 0xD53BD040,
}


@pytest.mark.parametrize(("words", "wanted"), ARM.values(), ids=ARM)
def test_aarch64_is_followed_as_its_manual_says(tmp_path: Path, words: tuple[int, ...], wanted: int) -> None:
    """Each known instruction of the other family leaves what it should."""
    path = tmp_path / "lib.so"
    path.write_bytes(code_library(struct.pack(f"<{len(words) + 1}I", *words, RETURN), AARCH64))

    assert followed(path, NAME) == wanted


@pytest.mark.parametrize("word", ARM_REFUSED.values(), ids=ARM_REFUSED)
def test_aarch64_is_not_followed_where_it_is_not_known(tmp_path: Path, word: int) -> None:
    """As with x86-64: no value, and a reason."""
    path = tmp_path / "lib.so"
    path.write_bytes(code_library(struct.pack("<II", word, RETURN), AARCH64))

    assert "is not known" in str(followed(path, NAME))


HOSTILE = {
    "no end": ("1: jmp 1b", "not at its end after 20000"),
    "out of itself": (".byte 0xeb, 0", "leaves its function"),
    "far away": (".byte 0xe9, 0, 0, 0, 0x70", "leaves its function"),
    "into itself": ("mov byte ptr [rip], 0xc3; nop", "where nothing can be written"),
    "all of memory": ("lea rsi, [rsp-64]; mov rdi, rsi; mov rcx, -1; rep movsb", "copies what is not known"),
    "all of the heap": ("1: mov edi, 0x8000; call 1b; jmp 1b", "more memory than any table"),
    "no stack": ("xor esp, esp; push rax", "where nothing can be written"),
    "prefixes": (".fill 15, 1, 0x66; nop", "is not known: 66 66"),
    "no instruction": (".byte 0x06", "is not known: 06"),
    "cut off": (".byte 0x48, 0xb8, 1, 2", "is not known: 48 b8 01 02"),
}


@pytest.mark.parametrize(("code", "wanted"), HOSTILE.values(), ids=HOSTILE)
def test_code_that_means_harm_ends_with_a_reason(tmp_path: Path, code: str, wanted: str) -> None:
    """Loops, jumps, copies and pieces of instructions cost steps and memory that are counted."""
    begun = time.monotonic()

    assert wanted in unread(tmp_path, assembled(code), X86_64)
    assert time.monotonic() - begun < 30


def test_a_machine_without_capstone_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its library in C may be missing; then the settings are not read, and everything else is."""
    monkeypatch.setitem(sys.modules, "capstone", None)

    assert "capstone does not start" in unread(tmp_path, b"\xc3", X86_64)


@pytest.mark.parametrize("machine", [X86_64, AARCH64])
def test_any_bytes_end_with_a_reason(tmp_path: Path, machine: int) -> None:
    """Whatever is called code, nothing but a reason comes out of it."""
    chance = random.Random(7)  # noqa: S311  the same bytes in every run
    for _ in range(300):
        assert unread(tmp_path, chance.randbytes(chance.randrange(1, 200)), machine)
