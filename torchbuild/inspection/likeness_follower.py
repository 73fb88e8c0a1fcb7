"""A function, followed on paper: the few instructions with which a compiler fills a table of strings.

Nothing is run. An instruction that is not among these ends the reading; a value that is not known stays so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from torchbuild.inspection.likeness_decoder import Decoder, Operand, unknown
from torchbuild.inspection.likeness_frame import MASK, STACK, Frame, Stop
from torchbuild.inspection.likeness_image import Image

if TYPE_CHECKING:
    from capstone import CsInsn

__all__ = ["Follower"]

_MOST_LOOKED_AT = 20_000
_HALF, _LONGEST = 8, 32
"""Bytes of half a vector, as of a whole register of numbers; and of the longest vector."""
_PAIR = 2

_Way = Callable[[Any, list[Operand]], None]
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    **dict.fromkeys(("and", "test"), operator.and_),
    **dict.fromkeys(("or", "orr"), operator.or_),
    **dict.fromkeys(("sub", "subs", "cmp"), operator.sub),
    **dict.fromkeys(("xor", "eor"), operator.xor),
    "add": operator.add,
    "shl": operator.lshift,
    "shr": operator.rshift,
}
_SHIFTS = (operator.lshift, operator.rshift)
_CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    **dict.fromkeys(("e", "eq"), operator.eq),
    "ne": operator.ne,
    **dict.fromkeys(("b", "lo", "l", "lt"), operator.lt),
    **dict.fromkeys(("be", "ls", "le"), operator.le),
    **dict.fromkeys(("a", "hi", "g", "gt"), operator.gt),
    **dict.fromkeys(("ae", "hs", "ge"), operator.ge),
}
_SIGNED = ("l", "lt", "le", "g", "gt", "ge")


def _for(names: str, way: _Way) -> dict[str, _Way]:
    return dict.fromkeys(names.split(), way)


def _for_vectors(names: str, way: _Way) -> dict[str, _Way]:
    """In the spelling of AVX too."""
    return _for(names, way) | {f"v{name}": way for name in names.split()}


class Follower:
    """One function, instruction by instruction.

    Attributes:
        at: address of the instruction that is next.
        is_over: whether the function returned.
    """

    _found: CsInsn
    _name: str

    def __init__(self, image: Image, frame: Frame, start: int) -> None:
        """Begin at an address, with nothing known but where the stack is.

        Raises:
            Stop: nobody knows the instructions of this processor family.
        """
        self.at = start
        self.is_over = False
        self._frame = frame
        self._decoder = Decoder(image, frame)
        self._machine = self._decoder.machine
        self._compared: tuple[int | None, int | None, int] = (None, None, _HALF)
        self._set(self._machine.stack, STACK)

    def give(self, first: int, second: int, third: int) -> None:
        """Arguments, before the first step."""
        for name, value in zip(self._machine.arguments, (first, second, third), strict=True):
            self._set(name, value)

    @property
    def arguments(self) -> tuple[int | None, int | None, int | None]:
        """What a call would be given now."""
        first, second, third = map(self._get, self._machine.arguments)
        return first, second, third

    @property
    def returned(self) -> int | None:
        """What the function returned; None where that is not known."""
        return self._get(self._machine.result) if self.is_over else None

    def step(self) -> None:
        """Follow one instruction.

        Raises:
            Stop: it is none that is known, or leads where nothing is known.
            MalformedError: the library is not what its headers say.
        """
        self._found = self._decoder.at(self.at)
        self._name = self._found.mnemonic.removeprefix("bnd ")
        self._require(self._name in self._ways)
        self.at += self._found.size
        try:
            self._ways[self._name](self, self._decoder.operands(self._found))
        except IndexError:  # it has fewer operands than its name promises
            raise unknown(self._found) from None

    def _require(self, is_known: bool) -> None:  # noqa: FBT001  what is asked for
        if not is_known:
            raise unknown(self._found)

    def names_place(self, place: int, start: int, end: int) -> bool:
        """Whether the code from `start` to `end` takes an address that a register of now leads to.

        Raises:
            Stop: something there is no instruction.
            MalformedError: the library is not what its headers say.
        """
        at = start
        for _ in range(_MOST_LOOKED_AT):
            if at >= end:
                break
            found = self._decoder.at(at)
            at += found.size
            if found.mnemonic in ("lea", "add") and self._taken(found) == place:
                return True
        return False

    def _taken(self, found: CsInsn) -> int | None:
        """The address that an instruction takes."""
        try:
            operands = self._decoder.operands(found)
            if found.mnemonic == "lea":
                return operands[1].place
            base, number = self._load(operands[1], _HALF), operands[2].number
        except (Stop, IndexError):
            return None
        return None if base is None or number is None else base + number & MASK

    # values

    def _get(self, name: str) -> int | None:
        return self._load(self._machine.registers[name], _HALF)

    def _set(self, name: str, value: int | None) -> None:
        self._store(self._machine.registers[name], value)

    def _load(self, source: Operand, size: int) -> int | None:
        """A value; `size` are the bytes of a number."""
        if source.number is not None:
            return source.number & (1 << 8 * size) - 1
        return self._frame.load(source.place, source.size)

    def _store(self, to: Operand, value: int | None) -> None:
        self._frame.store(to.place, to.size, value)
        self._clear(to, to.size)

    def _clear(self, to: Operand, size: int) -> None:
        """What is behind so many bytes becomes zero."""
        if to.place is not None and to.room > size:
            self._frame.store(to.place + size, to.room - size, 0)

    def _copy(self, to: Operand, source: Operand, most: int = _LONGEST) -> None:
        """Copy bytes, each known or not."""
        if to.place is None or source.place is None or source.number is not None:
            self._store(to, self._load(source, to.size))
            return
        size = min(to.size, source.size, most)
        self._frame.copy(to.place, source.place, size)
        self._clear(to, size)

    # instructions, by what they do

    def _nothing(self, _: list[Operand]) -> None:
        """It matters to nothing that is followed."""

    def _move(self, operands: list[Operand]) -> None:
        self._copy(operands[0], operands[1], _HALF if self._name.endswith("movq") else _LONGEST)

    def _move_part(self, operands: list[Operand]) -> None:
        """Sixteen bits of a register; the others stay."""
        to, part = operands[0], operands[1]
        if to.place is None or part.number is None:
            raise unknown(self._found)
        self._frame.store(to.place + part.shift // 8, 2, part.number >> part.shift)
        self._clear(to, to.size)

    def _clear_vector(self, operands: list[Operand]) -> None:
        self._require(operands[-1].number == 0 or operands[-1].place == operands[-2].place)
        self._store(operands[0], 0)

    def _clear_upper_halves(self, _: list[Operand]) -> None:
        for row in range(16):
            self._clear(self._machine.registers[f"ymm{row}"], 2 * _HALF)

    def _join(self, operands: list[Operand]) -> None:
        """Two halves become a vector."""
        to, low, high = operands[0], operands[-2], operands[-1]
        is_whole = to.size == 2 * _HALF  # a longer one is joined piece by piece
        if to.place is None or to.place >= 0 or not is_whole or to.place == high.place != low.place:
            raise unknown(self._found)
        self._copy(to, low, _HALF)
        self._copy(Operand(_HALF, to.place + _HALF, to.room - _HALF), high, _HALF)

    def _widen(self, operands: list[Operand]) -> None:
        """A number that may be negative, in more bytes."""
        to, source = operands[0], operands[1]
        self._require(len(operands) == _PAIR and source.number is None)
        value = self._load(source, source.size)
        self._store(to, None if value is None else _signed(value, source.size))

    def _take_address(self, operands: list[Operand]) -> None:
        self._store(operands[0], operands[1].place)

    def _transfer(self, operands: list[Operand]) -> None:
        """Loads and stores of AArch64: one register or two; the base may move."""
        count = _PAIR if self._name.endswith("p") else 1
        memory = operands[count]
        self._require(memory.number is None)
        for order, register in enumerate(operands[:count]):
            there = memory._replace(place=_plus(memory.place, order * memory.size))
            self._copy(*((register, there) if self._name.startswith("ld") else (there, register)))
        for base in operands[count + 1 :][-1:]:
            self._store(base, _plus(memory.place, operands[count + 1].number or 0))

    def _compute(self, operands: list[Operand]) -> None:
        to, left, right = operands[0], operands[-2], operands[-1]
        work, size = _OPERATIONS[self._name], left.size
        self._require(work not in _SHIFTS or (right.number is not None and right.number < 8 * size))
        first, second = self._load(left, size), self._load(right, size)
        value = None if first is None or second is None else work(first, second) & (1 << 8 * size) - 1
        if work is operator.xor and left == right:
            value = 0
        if self._name not in ("cmp", "test"):
            self._store(to, value)
        if self._name in self._machine.comparing:
            if work is operator.sub:
                self._compared = first, second, size
            elif work is operator.add or work in _SHIFTS:
                self._compared = None, None, size
            else:
                self._compared = value, 0, size

    def _push(self, operands: list[Operand]) -> None:
        size = operands[0].size
        stack = self._stack() - size & MASK
        self._copy(Operand(size, stack), operands[0])
        self._set(self._machine.stack, stack)

    def _pop(self, operands: list[Operand]) -> None:
        size, stack = operands[0].size, self._stack()
        self._require((operands[0].place or 0) < 0)  # else its address counts from where the stack is then
        self._set(self._machine.stack, stack + size)
        self._copy(operands[0], Operand(size, stack))

    def _stack(self) -> int:
        stack = self._get(self._machine.stack)
        if stack is None:
            raise Stop("nobody knows where its stack is")
        return stack

    def _copy_row(self, operands: list[Operand]) -> None:
        """Bytes in a row, once or by a count."""
        to, source = operands[0].place, operands[1].place
        is_counted = self._name.startswith("rep ")
        count = self._get("rcx") if is_counted else 1
        if to is None or source is None or count is None:
            raise Stop("it copies what is not known")
        self._require(to >= 0 and source >= 0)  # vectors have instructions of the same name
        size = count * operands[0].size
        self._frame.copy(to, source, size)
        self._set("rdi", to + size)
        self._set("rsi", source + size)
        if is_counted:
            self._set("rcx", 0)

    def _call(self, _: list[Operand]) -> None:
        result = self._frame.call(*self.arguments)
        for name in self._machine.lost:
            self._set(name, None)
        self._set(self._machine.result, result)
        self._compared = (None, None, _HALF)

    def _return(self, _: list[Operand]) -> None:
        self.is_over = True
        raise Stop("it ends without a table")

    def _jump(self, operands: list[Operand]) -> None:
        target = operands[-1].number
        if target is None:
            raise unknown(self._found)
        self.at = target & MASK

    def _jump_if(self, operands: list[Operand]) -> None:
        self._choose(_holds(self._name.removeprefix("b.").removeprefix("j"), *self._compared), operands)

    def _jump_if_zero(self, operands: list[Operand]) -> None:
        """Whether a register is zero, or one of its bits."""
        value = self._load(operands[0], _HALF)
        if value is not None and self._name.startswith("t"):
            value = value >> (operands[1].number or 0) & 1
        self._choose(None if value is None else (value == 0) != ("n" in self._name), operands)

    def _choose(self, is_it: bool | None, operands: list[Operand]) -> None:  # noqa: FBT001  a condition
        if is_it is None:
            raise Stop("its way depends on what is not known", is_expected=True)
        if is_it:
            self._jump(operands)

    def _set_if(self, operands: list[Operand]) -> None:
        self._store(operands[0], _holds(self._name.removeprefix("set"), *self._compared))

    _ways: ClassVar[dict[str, _Way]] = {
        **_for("nop endbr64 bti hint paciasp autiasp", _nothing),
        **_for("mov movabs movzx adr adrp movz fmov", _move),
        **_for_vectors("movd movq movups movupd movaps movapd movdqu movdqa", _move),
        **_for_vectors("pxor xorps xorpd", _clear_vector),
        **_for("vzeroupper", _clear_upper_halves),
        **_for_vectors("movhps movhpd movlhps punpcklqdq", _join),
        **_for("movi", _clear_vector),
        **_for("movk", _move_part),
        **_for("movsx movsxd ldrsb ldursb ldrsh ldursh ldrsw ldursw", _widen),
        **_for("ldr ldur ldrb ldurb ldrh ldurh ldar ldarb ldarh ldp", _transfer),
        **_for("str stur strb sturb strh sturh stp", _transfer),
        **_for("movsb movsw movsd movsq", _copy_row),
        **dict.fromkeys(("rep movsb", "rep movsw", "rep movsd", "rep movsq"), _copy_row),
        **_for("lea", _take_address),
        **_for("push", _push),
        **_for("pop", _pop),
        **_for("call bl blr", _call),
        **dict.fromkeys(("ret", "repz ret"), _return),
        **_for("jmp b", _jump),
        **_for("cbz cbnz tbz tbnz", _jump_if_zero),
        **dict.fromkeys(_OPERATIONS, _compute),
        **dict.fromkeys((f"j{name}" for name in _CONDITIONS), _jump_if),
        **dict.fromkeys((f"b.{name}" for name in _CONDITIONS), _jump_if),
        **dict.fromkeys((f"set{name}" for name in _CONDITIONS), _set_if),
    }


def _plus(place: int | None, amount: int) -> int | None:
    return None if place is None else place + amount & MASK


def _signed(value: int, size: int) -> int:
    """A number of so many bytes, as it is meant where it may be negative."""
    return value - (1 << 8 * size) if value >> (8 * size - 1) else value


def _holds(condition: str, left: int | None, right: int | None, size: int) -> bool | None:
    """Whether a condition holds after a comparison; None where that is not known."""
    if left is None or right is None:
        return None
    if condition in _SIGNED:
        left, right = _signed(left, size), _signed(right, size)
    return _CONDITIONS[condition](left, right)
