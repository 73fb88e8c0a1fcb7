"""AArch64 instructions, followed on paper: the few with which a compiler fills a table of strings.

Nothing is run. An instruction that is not among these ends the reading; a value that is not known stays so.
"""

from __future__ import annotations

from torchbuild.inspection.likeness_arm_memory import Access, access, bits, fits, moved, signed_bits
from torchbuild.inspection.likeness_frame import MASK, STACK, Frame, Stop
from torchbuild.inspection.likeness_image import Image

__all__ = ["FollowArm"]

_SP = 31
"""The stack pointer's place among our registers; in most operands the same number means zero."""
_LINK, _FRAME = 30, 29
_LOST_BY_CALLS = (*range(19), _LINK)
_HALF, _WHOLE = 32, 64
_PAGE = 0xFFF
_AND, _OR, _XOR, _AND_SETS = 0, 1, 2, 3
_NOT, _ZERO, _KEEP = 0, 2, 3


class FollowArm:
    """One function, instruction by instruction.

    Attributes:
        at: address of the instruction that is next.
        registers: thirty-one, and the stack pointer behind them; None where a value is not known.
        is_over: whether the function returned.
    """

    def __init__(self, image: Image, frame: Frame, start: int) -> None:
        """Begin at an address, with nothing known but where the stack is."""
        self.at = start
        self.registers: list[int | None] = [None] * 32
        self.registers[_SP] = STACK
        self.is_over = False
        self._image = image
        self._frame = frame
        self._vectors: list[bytes | None] = [None] * 32
        self._compared: tuple[int | None, int | None, int] = (None, None, _WHOLE)

    def give(self, first: int, second: int, third: int) -> None:
        """Arguments, before the first step."""
        self.registers[:3] = [first, second, third]

    @property
    def arguments(self) -> tuple[int | None, int | None, int | None]:
        """What a call would be given now."""
        first, second, third = self.registers[:3]
        return first, second, third

    @property
    def returned(self) -> int | None:
        """What the function returned; None where that is not known."""
        return self.registers[0] if self.is_over else None

    def step(self) -> None:
        """Follow one instruction.

        Raises:
            Stop: it is none that is known, or leads where nothing is known.
            MalformedError: the library is not what its headers say.
        """
        part = self._image.part(self.at)
        if part is None or part.is_writable or self.at % 4:
            raise Stop(f"it goes on at {self.at:#x}, where no code is")
        word = int.from_bytes(self._image.bytes_at(self.at, 4), "little")
        if not (self._memory(word) or self._computes(word) or self._goes(word)):
            raise Stop(f"the instruction at {self.at:#x} is not known: {word:08x}")

    def names_place(self, place: int, start: int, end: int) -> bool:
        """Whether the code from `start` to `end` takes an address that a register of now leads to."""
        code = self._image.bytes_at(start, (end - start) // 4 * 4)
        words = (int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4))
        return any(fits(word, 0xFF800000, 0x91000000) and self._sum(word) == place for word in words)

    def _sum(self, word: int) -> int | None:
        base = self.registers[bits(word, 5, 5)]
        return None if base is None else moved(base, bits(word, 10, 12) << 12 * bits(word, 22, 1))

    # registers: the number 31 is zero, or the stack pointer where that is said

    def _get(self, number: int, width: int = _WHOLE, *, is_stack: bool = False) -> int | None:
        if number == _SP and not is_stack:
            return 0
        value = self.registers[number]
        return None if value is None else value & (1 << width) - 1

    def _put(self, number: int, value: int | None, width: int = _WHOLE, *, is_stack: bool = False) -> None:
        if number != _SP or is_stack:
            self.registers[number] = None if value is None else value & (1 << width) - 1

    # memory

    def _memory(self, word: int) -> bool:
        found = access(word)
        if found is None:
            return False
        base = self._get(found.base, is_stack=True)
        address = None if base is None else self._address(base, found)
        for order, target in enumerate(found.targets):
            place = None if address is None else address + order * found.size
            if found.is_vector:
                self._vector(found, target, place)
            else:
                self._general(found, target, place)
        if found.after is not None:
            self._put(found.base, None if base is None else moved(base, found.after), is_stack=True)
        self.at += 4
        return True

    def _address(self, base: int, found: Access) -> int | None:
        if found.added is None:
            return moved(base, found.before)
        index = self._get(found.added, found.added_bits)
        return None if index is None else moved(base, index << found.shift)

    def _general(self, found: Access, target: int, place: int | None) -> None:
        if not found.is_load:
            self._frame.store(place, found.size, self._get(target, 8 * found.size))
            return
        value = self._frame.load(place, found.size)
        if found.is_signed and value is not None and value >> (8 * found.size - 1):
            value -= 1 << 8 * found.size
        self._put(target, value)

    def _vector(self, found: Access, target: int, place: int | None) -> None:
        if found.is_load:
            text = None if place is None else self._frame.known_text(place, found.size)
            self._vectors[target] = None if text is None else text.ljust(16, b"\0")
            return
        value = self._vectors[target]
        if place is None:
            raise Stop("it writes to a place that is not known")
        for order in range(found.size):
            self._frame.store(place + order, 1, None if value is None else value[order])

    # arithmetic

    def _computes(self, word: int) -> bool:
        width = _WHOLE if word >> 31 else _HALF
        is_it = (
            self._addresses(word)
            or self._adds(word, width)
            or self._moves(word, width)
            or self._combines(word, width)
            or self._clears(word)
        )
        if is_it:
            self.at += 4
        return is_it

    def _addresses(self, word: int) -> bool:
        """Adr and adrp."""
        if not fits(word, 0x1F000000, 0x10000000):
            return False
        offset = signed_bits(word, 5, 19) << 2 | bits(word, 29, 2)
        base = self.at & ~_PAGE if word >> 31 else self.at
        self._put(bits(word, 0, 5), moved(base, offset << 12 if word >> 31 else offset))
        return True

    def _adds(self, word: int, width: int) -> bool:
        """Sums, differences and comparisons."""
        sets, is_difference = bool(bits(word, 29, 1)), bool(bits(word, 30, 1))
        if fits(word, 0x1F800000, 0x11000000):
            left = self._get(bits(word, 5, 5), width, is_stack=True)
            right: int | None = bits(word, 10, 12) << 12 * bits(word, 22, 1)
            to_stack = not sets
        elif fits(word, 0x1F200000, 0x0B000000) and not bits(word, 22, 2):
            left = self._get(bits(word, 5, 5), width)
            right = self._get(bits(word, 16, 5), width)
            right = None if right is None else right << bits(word, 10, 6)
            to_stack = False
        else:
            return False
        result = None
        if left is not None and right is not None:
            result = left - right if is_difference else left + right
        if sets:
            self._compared = (left, right, width) if is_difference else (None, None, width)
        self._put(bits(word, 0, 5), result, width, is_stack=to_stack)
        return True

    def _moves(self, word: int, width: int) -> bool:
        """movz, movn and movk."""
        kind = bits(word, 29, 2)
        if not fits(word, 0x1F800000, 0x12800000) or kind == 1:
            return False
        shift = 16 * bits(word, 21, 2)
        value: int | None = bits(word, 5, 16) << shift
        if kind == _NOT and value is not None:
            value = ~value & MASK
        if kind == _KEEP:
            old = self._get(bits(word, 0, 5), width)
            value = None if old is None or value is None else old & ~(0xFFFF << shift) | value
        self._put(bits(word, 0, 5), value, width)
        return True

    def _combines(self, word: int, width: int) -> bool:
        """and, orr, eor: of registers, or with a number whose bits repeat."""
        if fits(word, 0x1F800000, 0x12000000):
            right = _repeated(word, width)
            to_stack = bits(word, 29, 2) != _AND_SETS
            if right is None:
                return False
        elif fits(word, 0x1FE00000, 0x0A000000):
            right = self._get(bits(word, 16, 5), width)
            right = None if right is None else right << bits(word, 10, 6)
            to_stack = False
        else:
            return False
        left, kind = self._get(bits(word, 5, 5), width), bits(word, 29, 2)
        result = None
        if left is not None and right is not None:
            result = {_AND: left & right, _OR: left | right, _XOR: left ^ right}.get(kind, left & right)
        if kind == _AND_SETS:
            self._compared = (result, 0 if result is not None else None, width)
        self._put(bits(word, 0, 5), result, width, is_stack=to_stack)
        return True

    def _clears(self, word: int) -> bool:
        """Movi with zero, fmov between registers, and what does nothing."""
        if fits(word, 0xFFFFF01F, 0xD503201F):
            return True
        number, source = bits(word, 0, 5), bits(word, 5, 5)
        if word & 0x9FF8FC00 in (0x0F000400, 0x0F00E400) and not word & 0x700E0 and not word & 0x300:
            self._vectors[number] = bytes(16)
            return True
        if fits(word, 0xFFFFFC00, 0x9E670000):
            value = self._get(source)
            self._vectors[number] = None if value is None else value.to_bytes(16, "little")
            return True
        return False

    # jumps

    def _goes(self, word: int) -> bool:
        if fits(word, 0x7C000000, 0x14000000):
            if word >> 31:
                self._called()
            else:
                self.at = moved(self.at, signed_bits(word, 0, 26) << 2)
            return True
        if fits(word, 0xFFFFFC1F, 0xD63F0000):
            self._called()
            return True
        if fits(word, 0xFFFFFC1F, 0xD65F0000):
            self.is_over = True
            raise Stop("it ends without a table")
        return self._goes_if(word)

    def _goes_if(self, word: int) -> bool:
        number, turned = bits(word, 0, 5), bool(bits(word, 24, 1))
        is_it: bool | None
        if fits(word, 0xFF000010, 0x54000000):
            is_it, offset = _holds(bits(word, 0, 4), *self._compared), signed_bits(word, 5, 19)
        elif fits(word, 0x7E000000, 0x34000000):
            value = self._get(number, _WHOLE if word >> 31 else _HALF)
            is_it, offset = None if value is None else (value == 0) != turned, signed_bits(word, 5, 19)
        elif fits(word, 0x7E000000, 0x36000000):
            value = self._get(number)
            place = bits(word, 19, 5) | word >> 31 << 5
            is_it, offset = (
                None if value is None else (not value >> place & 1) != turned,
                signed_bits(word, 5, 14),
            )
        else:
            return False
        if is_it is None:
            raise Stop("its way depends on what is not known", is_expected=True)
        self.at = moved(self.at, offset << 2 if is_it else 4)
        return True

    def _called(self) -> None:
        result = self._frame.call(*self.arguments)
        for number in _LOST_BY_CALLS:
            self.registers[number] = None
        self.registers[0] = result
        self._vectors = [None] * 32
        self._compared = (None, None, _WHOLE)
        self.at += 4


def _repeated(word: int, width: int) -> int | None:
    """The number of a logical instruction: ones in a row, turned, and repeated; None where it is none."""
    wide, turn, ones = bits(word, 22, 1), bits(word, 16, 6), bits(word, 10, 6)
    size = 1 << ((wide << 6 | ~ones & 63).bit_length() - 1) if wide << 6 | ~ones & 63 else 0
    if size < 2 or size > width:  # noqa: PLR2004  one bit has nothing to turn
        return None
    count = (ones & size - 1) + 1
    if count == size:
        return None
    turn &= size - 1
    element = (1 << count) - 1
    element = (element >> turn | element << (size - turn)) & (1 << size) - 1
    return sum(element << place for place in range(0, width, size))


def _holds(condition: int, left: int | None, right: int | None, width: int) -> bool | None:
    """Whether a condition holds after a comparison; None where that is not known."""
    if left is None or right is None:
        return None
    first, second = (value - (1 << width) if value >> (width - 1) else value for value in (left, right))
    ways = {0: left == right, 2: left >= right, 8: left > right, 10: first >= second, 12: first > second}
    found = ways.get(condition & ~1)
    return None if found is None else found != bool(condition & 1)
