"""Instructions of a library, by capstone, with their operands as places and numbers.

A register is a place of the frame like any other, below zero, where no address leads: what is written to a
part of it, and what is not known of it, is then told byte by byte, as in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.inspection.likeness_frame import MASK, Frame, Stop
from torchbuild.inspection.likeness_image import Image

if TYPE_CHECKING:
    from capstone import CsInsn
    from capstone.arm64 import Arm64Op
    from capstone.x86 import X86Op

__all__ = ["Decoder", "Machine", "Operand", "unknown"]

_LONGEST = 16
_ROW = 64
"""Bytes of the frame for each register."""
_REGISTER, _NUMBER, _MEMORY = 1, 2, 3
_LEFT = 1
_WHOLE_INDEX = (0, 3, 4)
"""An index of AArch64 that is taken as it is, or with zeros above it."""
_WIDE_ADDRESS = 8
_OF_THREAD = ("fs", "gs")
_SIZES = {"b": 1, "h": 2, "w": 4}
"""Bytes that AArch64 loads or stores, by the last letter; else as many as the register has."""


class Operand(NamedTuple):
    """A register, a place in memory, or a number."""

    size: int
    place: int | None = None
    """Where it is in the frame; None where that is not known, and for a number."""
    room: int = 0
    """Bytes that writing it sets: those behind its own become zero."""
    number: int | None = None
    shift: int = 0
    """How far the number was shifted."""


class Machine(NamedTuple):
    """A processor family."""

    engine: tuple[str, str]
    """What capstone calls it and its mode."""
    registers: Mapping[str, Operand]
    arguments: tuple[str, str, str]
    result: str
    stack: str
    lost: tuple[str, ...]
    """Registers that a called function may change."""
    comparing: frozenset[str]
    """Instructions after which a jump may ask how their result compares."""


class Decoder:
    """One library's instructions.

    Attributes:
        machine: its processor family.
    """

    def __init__(self, image: Image, frame: Frame) -> None:
        """Start capstone.

        Raises:
            Stop: nobody knows the instructions of this processor family, or capstone does not start.
        """
        if image.machine not in _MACHINES:
            raise Stop(f"instructions of {image.machine} are not known")
        try:
            import capstone  # noqa: PLC0415  only where a function is followed
        except ImportError as error:  # its part in C is not there, or not for this machine
            raise Stop(f"capstone does not start: {error}") from error
        self.machine = _MACHINES[image.machine]
        self._image = image
        self._frame = frame
        self._error: type[Exception] = capstone.CsError
        try:
            self._engine = capstone.Cs(*(getattr(capstone, name) for name in self.machine.engine))
            self._engine.detail = True
        except capstone.CsError as error:
            raise Stop(f"capstone does not start: {error}") from error

    def at(self, address: int) -> CsInsn:
        """The instruction at an address.

        Raises:
            Stop: there is none.
            MalformedError: the library is not what its headers say.
        """
        part = self._image.part(address)
        if part is None or part.is_writable:
            raise Stop(f"it goes on at {address:#x}, where no code is")
        code = self._image.bytes_at(address, min(_LONGEST, part.address + part.whole - address))
        try:
            found = list(self._engine.disasm(code, address, 1))
        except self._error as error:
            raise Stop(f"capstone does not read the instruction at {address:#x}: {error}") from error
        if not found:
            raise Stop(f"the instruction at {address:#x} is not known: {code[:8].hex(' ')}")
        return found[0]

    def operands(self, found: CsInsn) -> list[Operand]:
        """What it works on, with addresses as the registers are now; a base that is moved comes last.

        Raises:
            Stop: one of them is of a kind that is not known.
        """
        if self.machine is _MACHINES["x86_64"]:
            return [self._x86(found, item) for item in found.operands]
        operands = [self._arm(found, item) for item in found.operands]
        bases = [item.mem.base for item in found.operands if item.type == _MEMORY and found.writeback]
        return operands + [self._register(found, base) for base in bases]

    def _x86(self, found: CsInsn, item: X86Op) -> Operand:
        if item.type == _NUMBER:
            return Operand(item.size, number=item.imm)
        if item.type == _REGISTER:
            register = self._register(found, item.reg)
            is_vector = register.room > _WIDE_ADDRESS and found.mnemonic.startswith("v")
            return register._replace(room=32) if is_vector else register
        if found.addr_size != _WIDE_ADDRESS:
            raise unknown(found)
        memory, base = item.mem, found.address + found.size
        if self._engine.reg_name(memory.base) != "rip":
            base = self._value(found, memory.base)
        index = self._value(found, memory.index)
        if base is None or index is None or self._engine.reg_name(memory.segment) in _OF_THREAD:
            return Operand(item.size)
        return Operand(item.size, base + index * memory.scale + memory.disp & MASK, item.size)

    def _arm(self, found: CsInsn, item: Arm64Op) -> Operand:
        is_part = item.vector_index != -1 or (item.vas and found.mnemonic != "movi")
        is_extended = item.ext not in (_WHOLE_INDEX if item.type == _MEMORY else (0,))
        if is_part or is_extended or item.shift.type not in (0, _LEFT):
            raise unknown(found)
        shift = item.shift.value
        if item.type == _NUMBER:
            return Operand(_WIDE_ADDRESS, number=item.imm << shift, shift=shift)
        if item.type == _REGISTER:
            register = self._register(found, item.reg)
            if not shift:
                return register
            value = self._value(found, item.reg)
            return Operand(register.size, number=None if value is None else value << shift)
        if item.type != _MEMORY:
            raise unknown(found)
        size = _SIZES.get(found.mnemonic[-1]) or self._register(found, found.operands[0].reg).size
        base, index = self._value(found, item.mem.base), self._value(found, item.mem.index)
        if base is None or index is None:
            return Operand(size)
        return Operand(size, base + (index << shift) + item.mem.disp & MASK, size)

    def _register(self, found: CsInsn, number: int) -> Operand:
        register = self.machine.registers.get(self._engine.reg_name(number))
        if register is None:
            raise unknown(found)
        return register

    def _value(self, found: CsInsn, number: int) -> int | None:
        """What is in a register; zero for none."""
        if not number:
            return 0
        register = self._register(found, number)
        if register.number is not None:
            return register.number
        return self._frame.load(register.place, register.size)


def unknown(found: CsInsn) -> Stop:
    """Why an instruction is not followed."""
    return Stop(f"the instruction at {found.address:#x} is not known: {found.mnemonic} {found.op_str}")


def _place(row: int) -> int:
    return -_ROW * (row + 1)


def _registers_of_x86() -> dict[str, Operand]:
    rows = [(f"r{name}x", f"e{name}x", f"{name}x", f"{name}l") for name in "abcd"]
    rows += [(f"r{name}", f"e{name}", name, f"{name}l") for name in ("si", "di", "bp", "sp")]
    rows += [(f"r{number}", f"r{number}d", f"r{number}w", f"r{number}b") for number in range(8, 16)]
    found = {}
    for row, names in enumerate(rows):
        for name, size, room in zip(names, (8, 4, 2, 1), (8, 8, 2, 1), strict=True):
            found[name] = Operand(size, _place(row), room)
    for row, name in enumerate("abcd"):
        found[f"{name}h"] = Operand(1, _place(row) + 1, 1)
    for number in range(16):
        found[f"xmm{number}"] = Operand(16, _place(16 + number), 16)
        found[f"ymm{number}"] = Operand(32, _place(16 + number), 32)
    return found


def _registers_of_arm() -> dict[str, Operand]:
    found = {}
    for row, name in enumerate((*map(str, range(31)), "sp")):
        found["sp" if name == "sp" else f"x{name}"] = Operand(8, _place(row), 8)
        found[f"w{name}"] = Operand(4, _place(row), 8)
    found |= {"fp": found["x29"], "lr": found["x30"]}
    for name, size in (("xzr", 8), ("wzr", 4)):
        found[name] = Operand(size, _place(32), size, number=0)
    for number in range(32):
        for letter, size in (("b", 1), ("h", 2), ("s", 4), ("d", 8), ("q", 16), ("v", 16)):
            found[f"{letter}{number}"] = Operand(size, _place(33 + number), 16)
    return found


_MACHINES = {
    "x86_64": Machine(
        ("CS_ARCH_X86", "CS_MODE_64"),
        _registers_of_x86(),
        ("rdi", "rsi", "rdx"),
        "rax",
        "rsp",
        ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", *(f"ymm{row}" for row in range(16))),
        frozenset({"add", "and", "cmp", "or", "shl", "shr", "sub", "test", "xor"}),
    ),
    "aarch64": Machine(
        ("CS_ARCH_ARM64", "CS_MODE_LITTLE_ENDIAN"),
        _registers_of_arm(),
        ("x0", "x1", "x2"),
        "x0",
        "sp",
        (*(f"x{row}" for row in range(19)), "lr", *(f"q{row}" for row in range(32))),
        frozenset({"cmp", "subs"}),
    ),
}
