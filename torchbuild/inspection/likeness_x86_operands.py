"""Registers and operands of x86-64 instructions that are followed on paper."""

from __future__ import annotations

from typing import NamedTuple

from torchbuild.inspection.likeness_frame import MASK, STACK, Frame, Stop
from torchbuild.inspection.likeness_image import Image

__all__ = ["RAX", "RCX", "RDI", "RDX", "RSI", "RSP", "Operands", "Place", "plus", "signed"]

RAX = 0
RCX = 1
RDX = 2
RSP = 4
RSI = 6
RDI = 7
_LONGEST = 16
_IN_REGISTER = 3
_RELATIVE = _NO_BASE = 5
_INDEXED = _NO_INDEX = 4
_HALF = 4
"""Writing these bytes of a register clears the others."""
_PREFIXES = (b"\x66", b"\xf2", b"\xf3", b"\x2e", b"\x64")
_OF_THREAD = 0x64
"""Before an instruction that reaches into the thread's own memory."""
_WIDER, _RIGHT, _MIDDLE, _LEFT = 8, 4, 2, 1
"""The four bits with which an instruction says more than its bytes can."""


class Place(NamedTuple):
    """An operand."""

    register: int | None
    """Which register it is; None where it is in memory."""
    address: int | None
    """Where in memory; None where that is not known."""


class Operands:
    """One instruction after another, taken apart.

    Attributes:
        at: address of the instruction that is next.
        registers: sixteen of them; None where the value is not known.
    """

    def __init__(self, image: Image, frame: Frame, start: int) -> None:
        """Begin at an address, with nothing known but where the stack is."""
        self.at = start
        self.registers: list[int | None] = [None] * 16
        self.registers[RSP] = STACK
        self._lows: dict[int, tuple[int, int]] = {}
        """Of a register that is not known: how many of its lowest bytes are, and which."""
        self._image = image
        self._frame = frame
        self._code = b""
        self._place = 0
        self._extra = 0
        self._prefix = 0
        self._is_short = False
        self._is_of_thread = False

    def _begin(self) -> None:
        """Read the bytes of the next instruction, and what stands before its code."""
        part = self._image.part(self.at)
        if part is None or part.is_writable:
            raise Stop(f"it goes on at {self.at:#x}, where no code is")
        left = part.address + part.whole - self.at
        self._code, self._place = self._image.bytes_at(self.at, min(_LONGEST, left)), 0
        self._extra = self._prefix = 0
        self._is_short = self._is_of_thread = False
        while self._next() in _PREFIXES:
            self._prefix = self._byte()
            self._is_short = self._is_short or self._prefix == 0x66  # noqa: PLR2004  half as wide
            self._is_of_thread = self._is_of_thread or self._prefix == _OF_THREAD
        if self._next().hex()[:1] == "4":
            self._extra = self._byte()

    def _next(self) -> bytes:
        return self._code[self._place : self._place + 1]

    def _byte(self) -> int:
        if self._place >= len(self._code):
            raise self._unknown()
        self._place += 1
        return self._code[self._place - 1]

    def _number(self, size: int) -> int:
        """A signed number of the instruction."""
        piece = self._code[self._place : self._place + size]
        if len(piece) != size:
            raise self._unknown()
        self._place += size
        return int.from_bytes(piece, "little", signed=True)

    def _done(self) -> None:
        self.at += self._place

    def _unknown(self) -> Stop:
        return Stop(f"the instruction at {self.at:#x} is not known: {self._code[:8].hex(' ')}")

    @property
    def _size(self) -> int:
        """Bytes of the operands."""
        if self._extra & _WIDER:
            return 8
        return 2 if self._is_short else 4

    def _low_register(self, bits: int) -> int:
        return bits | (self._extra & _LEFT) << 3

    def _operands(self, after: int = 0) -> tuple[int, Place]:
        """The number of a register, and the operand that may be in memory.

        Args:
            after: bytes of the instruction that follow.
        """
        code = self._byte()
        mode, number, low = code >> 6, code >> 3 & 7 | (self._extra & _RIGHT) << 1, code & 7
        if mode == _IN_REGISTER:
            return number, Place(self._low_register(low), None)
        if low == _INDEXED:
            address = self._indexed(mode)
            return number, Place(None, None if self._is_of_thread else address)
        if mode == 0 and low == _RELATIVE:
            offset = self._number(4)
            return number, Place(None, self.at + self._place + after + offset)
        base = self.registers[self._low_register(low)]
        return number, Place(None, plus(base, self._offset(mode)))

    def _indexed(self, mode: int) -> int | None:
        code = self._byte()
        scale, index, low = code >> 6, code >> 3 & 7 | (self._extra & _MIDDLE) << 2, code & 7
        base: int | None = 0
        if mode == 0 and low == _NO_BASE:
            offset = self._number(4)
        else:
            base, offset = self.registers[self._low_register(low)], self._offset(mode)
        if index == _NO_INDEX:
            return plus(base, offset)
        value = self.registers[index]
        return None if value is None else plus(base, offset + (value << scale))

    def _offset(self, mode: int) -> int:
        return self._number((0, 1, 4)[mode]) if mode else 0

    def _part(self, number: int, size: int) -> tuple[int, int]:
        """Which register, and which of its bits: the old names of single bytes mean second ones."""
        is_second = size == 1 and not self._extra and RSP <= number < 2 * RSP
        return (number - RSP, 8) if is_second else (number, 0)

    def _get(self, place: Place, size: int) -> int | None:
        if place.register is None:
            return self._frame.load(place.address, size)
        number, shift = self._part(place.register, size)
        value = self.registers[number]
        if value is None:
            known, low = self._lows.get(number, (0, 0))
            return low & ones(size) if size <= known and not shift else None
        return value >> shift & ones(size)

    def _put(self, place: Place, size: int, value: int | None) -> None:
        value = None if value is None else value & ones(size)
        if place.register is None:
            self._frame.store(place.address, size, value)
            return
        number, shift = self._part(place.register, size)
        old = self.registers[number]
        self._lows.pop(number, None)
        if size < _HALF and value is not None:
            if old is None and not shift:
                self._lows[number] = size, value
            value = None if old is None else old & ~(ones(size) << shift) | value << shift
        self.registers[number] = value


def plus(base: int | None, offset: int) -> int | None:
    """An address; None where it is not known."""
    return None if base is None else base + offset & MASK


def ones(size: int) -> int:
    """A number of so many bytes, all bits set."""
    return (1 << 8 * size) - 1


def signed(value: int | None, size: int) -> int | None:
    """A number of so many bytes, as it is meant where it may be negative."""
    if value is None:
        return None
    return value - (1 << 8 * size) if value >> (8 * size - 1) else value
