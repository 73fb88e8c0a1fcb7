"""x86-64 instructions, followed on paper: the few with which a compiler fills a table of strings.

Nothing is run. An instruction that is not among these ends the reading; a value that is not known stays so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from torchbuild.inspection.likeness_frame import Frame, Stop
from torchbuild.inspection.likeness_image import Image
from torchbuild.inspection.likeness_x86_operands import (
    RAX,
    RCX,
    RDI,
    RDX,
    RSI,
    RSP,
    Place,
    plus,
    signed,
)
from torchbuild.inspection.likeness_x86_vectors import Vectors

__all__ = ["FollowX86"]

_LOST_BY_CALLS = (0, 1, 2, 6, 7, 8, 9, 10, 11)
_ADD, _OR, _AND, _SUB, _XOR, _COMPARE = 0, 1, 4, 5, 6, 7
_LEFT, _RIGHT = 4, 5
_REPEATED = 0xF3
_CALLS = 2

# codes by what they mean
_TWO_BYTES, _AVX_LONG, _AVX_SHORT = 0x0F, 0xC4, 0xC5
_WITH_BYTE, _WITH_LONG, _ONCE_BY_COUNT, _COPY_BYTES, _JUMP_FAR = 0x83, 0x81, 0xC1, 0xA4, 0xE9
_SET_IF = 0x90
_JUMP_IF, _JUMP_IF_FAR, _NUMBER, _LAST_NUMBER = 0x70, 0x80, 0xB0, 0xC0
_PUSH, _POP, _LAST_POP = 0x50, 0x58, 0x60
_MARK, _NOTHING, _MARK_64 = 0x1E, 0x1F, b"\xfa"
_WIDENED = (0xB6, 0xB7, 0xBE, 0xBF)
_LEA, _LEA_WIDE, _STACK_ALONE, _BY_INDEX = 0x8D, 0x48, 0x24, 4
_LONGEST_LEA = 8


class FollowX86(Vectors):
    """One function, instruction by instruction.

    Attributes:
        is_over: whether the function returned.
    """

    def __init__(self, image: Image, frame: Frame, start: int) -> None:
        """Begin at an address, with nothing known but where the stack is."""
        super().__init__(image, frame, start)
        self.is_over = False
        self._compared: tuple[int | None, int | None, int] = (None, None, 8)

    def give(self, first: int, second: int, third: int) -> None:
        """Arguments, before the first step."""
        self.registers[RDI], self.registers[RSI], self.registers[RDX] = first, second, third

    @property
    def arguments(self) -> tuple[int | None, int | None, int | None]:
        """What a call would be given now."""
        return self.registers[RDI], self.registers[RSI], self.registers[RDX]

    @property
    def returned(self) -> int | None:
        """What the function returned; None where that is not known."""
        return self.registers[RAX] if self.is_over else None

    def step(self) -> None:
        """Follow one instruction.

        Raises:
            Stop: it is none that is known, or leads where nothing is known.
            MalformedError: the library is not what its headers say.
        """
        self._begin()
        code = self._byte()
        if code in (_AVX_LONG, _AVX_SHORT):
            self._avx(code == _AVX_LONG)
        elif code == _TWO_BYTES:
            self._two_bytes(self._byte())
        elif code < _JUMP_IF:
            self._low_codes(code)
        elif code < _JUMP_IF + 16:
            self._jump_if(code & 15, self._number(1))
        elif _NUMBER <= code < _LAST_NUMBER:
            size = self._size if code & 8 else 1
            self._put(Place(self._low_register(code & 7), None), size, self._number(size))
            self._done()
        elif code in self._one_byte:
            self._one_byte[code](self, code)
        else:
            raise self._unknown()

    def names_place(self, place: int, start: int, end: int) -> bool:
        """Whether the code from `start` to `end` takes an address that a register of now leads to."""
        code = self._image.bytes_at(start, end - start)
        return any(
            code[at] == _LEA and code[at - 1] & 0xF8 == _LEA_WIDE and self._lea(code, at) == place
            for at in range(1, len(code) - _LONGEST_LEA)
        )

    def _lea(self, code: bytes, at: int) -> int | None:
        mode, low = code[at + 1] >> 6, code[at + 1] & 7
        if mode not in (1, 2) or (low == _BY_INDEX and code[at + 2] != _STACK_ALONE):
            return None
        number = low if low == _BY_INDEX else low | (code[at - 1] & 1) << 3
        first = at + 2 + (low == _BY_INDEX)
        offset = int.from_bytes(code[first : first + (1, 4)[mode - 1]], "little", signed=True)
        return plus(self.registers[number], offset)

    def _low_codes(self, code: int) -> None:
        size = self._size if code & 1 else 1
        if _PUSH <= code < _LAST_POP:
            self._push_or_pop(self._low_register(code & 7), is_push=code < _POP)
        elif code >= _PUSH or code & 7 > _AND + 1:
            self._widened_long(code)
        elif code & 7 < _AND:
            self._arithmetic(code >> 3, size, is_back=bool(code & 2))
        else:
            self._apply(code >> 3, Place(RAX, None), size, self._number(min(size, 4)))
            self._done()

    def _arithmetic(self, operation: int, size: int, *, is_back: bool) -> None:
        number, place = self._operands()
        own = Place(number, None)
        to, other = (own, place) if is_back else (place, own)
        if operation == _XOR and to == other:
            self._put(to, size, 0)
            self._result(0, size)
        else:
            self._apply(operation, to, size, self._get(other, size))
        self._done()

    def _apply(self, operation: int, to: Place, size: int, other: int | None) -> None:
        value = self._get(to, size)
        mask = (1 << 8 * size) - 1
        if operation == _COMPARE:
            self._compared = (value, None if other is None else other & mask, size)
            if other is None:
                self._compared = (None, None, size)
            return
        result = None
        if value is not None and other is not None:
            ways = {_ADD: value + other, _OR: value | other, _AND: value & other}
            ways |= {_SUB: value - other, _XOR: value ^ other}
            if operation not in ways:
                raise self._unknown()
            result = ways[operation] & mask
        self._put(to, size, result)
        self._result(result, size)

    def _result(self, value: int | None, size: int) -> None:
        """Whether it is zero or negative is known then; how it compares is not."""
        self._compared = (value, None, size)

    def _with_number(self, code: int) -> None:
        size = self._size if code & 1 else 1
        width = min(size, 4) if code == _WITH_LONG else 1
        operation, place = self._operands(width)
        self._apply(operation & 7, place, size, self._number(width))
        self._done()

    def _shift(self, code: int) -> None:
        operation, place = self._operands(1 if code == _ONCE_BY_COUNT else 0)
        count = self._number(1) & 63 if code == _ONCE_BY_COUNT else 1
        value = self._get(place, self._size)
        if operation & 7 not in (_LEFT, _RIGHT):
            raise self._unknown()
        if value is not None:
            value = value << count if operation & 7 == _LEFT else value >> count
        self._put(place, self._size, value)
        self._result(None, self._size)
        self._done()

    def _test(self, code: int) -> None:
        size = self._size if code & 1 else 1
        number, place = self._operands()
        left, right = self._get(place, size), self._get(Place(number, None), size)
        self._result(None if left is None or right is None else left & right, size)
        self._done()

    def _move(self, code: int) -> None:
        size = self._size if code & 1 else 1
        number, place = self._operands()
        own = Place(number, None)
        to, source = (own, place) if code & 2 else (place, own)
        self._put(to, size, self._get(source, size))
        self._done()

    def _store_number(self, code: int) -> None:
        size = self._size if code & 1 else 1
        width = min(size, 4)
        _, place = self._operands(width)
        self._put(place, size, self._number(width))
        self._done()

    def _address(self, _: int) -> None:
        number, place = self._operands()
        self._put(Place(number, None), self._size, place.address)
        self._done()

    def _widened_long(self, code: int) -> None:
        if code != 0x63:  # noqa: PLR2004  a signed number of 32 bits, made one of 64
            raise self._unknown()
        number, place = self._operands()
        self._put(Place(number, None), self._size, signed(self._get(place, 4), 4))
        self._done()

    def _push_or_pop(self, number: int, *, is_push: bool) -> None:
        stack = self.registers[RSP]
        if stack is None:
            raise Stop("nobody knows where its stack is")
        if is_push:
            self._frame.store(stack - 8, 8, self.registers[number])
            self.registers[RSP] = stack - 8
        else:
            self._put(Place(number, None), 8, self._frame.load(stack, 8))
            self.registers[RSP] = stack + 8
        self._done()

    def _call(self, _: int) -> None:
        self._number(4)
        self._called()

    def _call_through(self, _: int) -> None:
        operation, _place = self._operands()
        if operation & 7 != _CALLS:
            raise self._unknown()
        self._called()

    def _called(self) -> None:
        result = self._frame.call(*self.arguments)
        for number in _LOST_BY_CALLS:
            self.registers[number] = None
        self._lows.clear()
        self.registers[RAX] = result
        self._forget_vectors()
        self._compared = (None, None, 8)
        self._done()

    def _jump(self, code: int) -> None:
        offset = self._number(4 if code == _JUMP_FAR else 1)
        self.at += self._place + offset

    def _nothing(self, _: int) -> None:
        self._done()

    def _return(self, _: int) -> None:
        self.is_over = True
        raise Stop("it ends without a table")

    def _copy_row(self, code: int) -> None:
        size = 1 if code == _COPY_BYTES else self._size
        to, source = self.registers[RDI], self.registers[RSI]
        count = self.registers[RCX] if self._prefix == _REPEATED else 1
        if to is None or source is None or count is None:
            raise Stop("it copies what is not known")
        self._frame.copy(to, source, count * size)
        self.registers[RDI], self.registers[RSI] = to + count * size, source + count * size
        if self._prefix == _REPEATED:
            self.registers[RCX] = 0
        self._done()

    def _jump_if(self, condition: int, offset: int) -> None:
        is_it = _holds(condition, *self._compared)
        if is_it is None:
            raise Stop("its way depends on what is not known", is_expected=True)
        self.at += self._place + (offset if is_it else 0)

    def _two_bytes(self, code: int) -> None:
        if code & 0xF0 == _JUMP_IF_FAR:
            self._jump_if(code & 15, self._number(4))
        elif code & 0xF0 == _SET_IF:
            _, place = self._operands()
            is_it = _holds(code & 15, *self._compared)
            self._put(place, 1, None if is_it is None else int(is_it))
            self._done()
        elif code in (_MARK, _NOTHING):
            if code == _MARK and self._next() == _MARK_64:
                self._byte()
            else:
                self._operands()
            self._done()
        elif code in _WIDENED:
            size = 1 + (code & 1)
            number, place = self._operands()
            value = self._get(place, size)
            self._put(Place(number, None), self._size, signed(value, size) if code & 8 else value)
            self._done()
        else:
            self._vector(code)

    _one_byte: ClassVar[dict[int, Callable[[Any, int], None]]] = {
        0x80: _with_number,
        0x81: _with_number,
        0x83: _with_number,
        0x84: _test,
        0x85: _test,
        0x88: _move,
        0x89: _move,
        0x8A: _move,
        0x8B: _move,
        0x8D: _address,
        0x90: _nothing,
        0xA4: _copy_row,
        0xA5: _copy_row,
        0xC1: _shift,
        0xC3: _return,
        0xC6: _store_number,
        0xC7: _store_number,
        0xD1: _shift,
        0xE8: _call,
        0xE9: _jump,
        0xEB: _jump,
        0xFF: _call_through,
    }


def _holds(condition: int, left: int | None, right: int | None, size: int) -> bool | None:
    """Whether a condition holds; None where that is not known.

    Args:
        condition: the lower half of a jump's code; its last bit turns it around.
        left: what was compared, or the result of arithmetic.
        right: with what; None for a result.
        size: bytes of both.
    """
    first, second = signed(left, size), signed(right, size)
    if left is None or first is None:
        return None
    ways = {4: left == 0, 8: first < 0}
    if right is not None and second is not None:
        ways = {2: left < right, 4: left == right, 6: left <= right}
        ways |= {12: first < second, 14: first <= second}
    found = ways.get(condition & ~1)
    return None if found is None else found != bool(condition & 1)
