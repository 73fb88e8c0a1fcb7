"""Memory and registers of a function that is followed on paper: numbers, and what is not known.

Addresses of the library are its own; stack and heap lie where no library is, registers below zero. What was
never written and is not in the file is not known, and neither is what is computed from it.
"""

from __future__ import annotations

from typing import NamedTuple

from torchbuild.inspection.bounded import MalformedError
from torchbuild.inspection.likeness_image import Image

__all__ = ["HEAP", "MASK", "STACK", "Frame", "Stop"]

STACK = 0x7F00_0000_0000
"""Where the stack pointer stands when the function begins."""
HEAP = 0x5000_0000_0000
_STACK_ROOM = 1 << 20
_HEAP_ROOM = 1 << 20
MASK = (1 << 64) - 1
_MOST_TOUCHED = 1 << 21
_LONGEST_COPY = 1 << 16

_SPARE = 48
"""A string of the old ABI has its length and two words more before its characters."""
_SHORT = 15
"""Characters that a string holds in itself."""


class Stop(Exception):  # noqa: N818  an end, and not always a bad one
    """The function is followed no further."""

    def __init__(self, why: str, *, is_expected: bool = False) -> None:
        """Say why.

        Args:
            why: a clause.
            is_expected: whether that is how a table of strings ends: something is done with it.
        """
        super().__init__(why)
        self.is_expected = is_expected


class _Call(NamedTuple):
    """Arguments of a call."""

    first: int | None
    second: int | None
    third: int | None


class Frame:
    """The memory of one function that fills a table of strings, and the functions that it calls.

    Attributes:
        is_new_abi: whether a string is an object of 32 bytes; else a pointer to its characters.
    """

    def __init__(self, image: Image, *, is_new_abi: bool) -> None:
        """Nothing is written yet."""
        self._image = image
        self._written: dict[int, int | None] = {}
        self._touched = 0
        self._next = HEAP
        self._has_guard = False
        self.is_new_abi = is_new_abi

    def load(self, address: int | None, size: int) -> int | None:
        """A little-endian number; None where a byte of it is not known."""
        if address is None:
            return None
        value = 0
        for place in range(size):
            byte = self._byte(address + place)
            if byte is None:
                return None
            value |= byte << (8 * place)
        return value

    def store(self, address: int | None, size: int, value: int | None) -> None:
        """Write a number, or that it is not known.

        Raises:
            Stop: nobody knows where, or nothing can be written there, or it is too much in all.
        """
        if address is None:
            raise Stop("it writes to a place that is not known")
        if not self._can_write(address):
            raise Stop(f"it writes to {address:#x}, where nothing can be written")
        self._touch(size)
        for place in range(size):
            self._written[address + place] = None if value is None else value >> (8 * place) & 0xFF

    def copy(self, to: int | None, source: int | None, size: int | None) -> None:
        """Copy bytes, known or not.

        Raises:
            Stop: place or length are not known, or are too much.
        """
        if to is None or source is None or size is None or size > _LONGEST_COPY:
            raise Stop("it copies what is not known")
        for place, byte in enumerate([self._byte(source + place) for place in range(size)]):
            self.store(to + place, 1, byte)

    def call(self, first: int | None, second: int | None, third: int | None) -> int | None:
        """What a called function does, told by what it is given; what it returns.

        Raises:
            Stop: it is none of those that fill a table of strings.
        """
        given = _Call(first, second, third)
        for kind in (self._guard, self._allocation, self._room, self._string, self._copying):
            is_it, result = kind(given)
            if is_it:
                return result
        what = "nothing known" if first is None else f"{first:#x}"
        raise Stop(f"it calls something that takes {what}", is_expected=self._is_static(first))

    def is_stack(self, address: int | None) -> bool:
        """Whether it lies in the function's own frame, or above."""
        return address is not None and abs(address - STACK) < _STACK_ROOM

    def known_text(self, address: int, size: int) -> bytes | None:
        """Bytes that are all known; else None.

        Raises:
            Stop: as for `store`.
        """
        if size > _LONGEST_COPY:
            return None
        self._touch(size)
        found = [self._byte(address + place) for place in range(size)]
        return bytes(byte for byte in found if byte is not None) if None not in found else None

    def string_at(self, place: int) -> bytes | None:
        """The string whose object lies there, whole and well-formed; None where there is none."""
        start = self.load(place, 8)
        if start is None:
            return None
        if not self.is_new_abi:
            size = self.load(start - 24, 8) if self._is_heap(start) else None
        else:
            size = self.load(place + 8, 8) if start == place + 16 or self._is_heap(start) else None
            if start == place + 16 and size is not None and size > _SHORT:
                return None
        if size is None:
            return None
        text = self.known_text(start, size + 1)
        return text[:-1] if text is not None and text.find(b"\0") == size else None

    def _guard(self, given: _Call) -> tuple[bool, int | None]:
        """The first call with something of the library's own asks whether the table is to be made: yes."""
        if self._has_guard or not self._is_static(given.first):
            return False, None
        self._has_guard = True
        return True, 1

    def _allocation(self, given: _Call) -> tuple[bool, int | None]:
        if given.first is None or not 0 < given.first <= _LONGEST_COPY or self._is_static(given.first):
            return False, None
        return True, self._allocate(given.first)

    def _room(self, given: _Call) -> tuple[bool, int | None]:
        """A string that was begun asks for room for as many characters as stand where it points to."""
        place, wanted, before = given
        if place is None or not self.is_stack(place) or not self.is_stack(wanted) or before != 0:
            return False, None
        size = self.load(wanted, 8)
        if size is None or not _SHORT < size <= _LONGEST_COPY or self.load(place, 8) != place + 16:
            return False, None
        return True, self._allocate(size + 1)

    def _string(self, given: _Call) -> tuple[bool, int | None]:
        """A string is made of a text of the library, or of a part of one."""
        place, text, end = given
        if place is None or not self.is_stack(place) or text is None or not self._is_constant(text):
            return False, None
        is_begun = self.is_new_abi and self.load(place, 8) == place + 16
        if is_begun and end is not None and text <= end <= text + _LONGEST_COPY and self._is_constant(end):
            held = self.known_text(text, end - text)
            if held is None:
                return False, None
        else:
            held = self._text(text)
        self._make_string(place, held)
        return True, place

    def _copying(self, given: _Call) -> tuple[bool, int | None]:
        """Memcpy into memory that was asked for before."""
        to, source, size = given
        if not self._is_heap(to) or source is None or not self._is_constant(source) or size is None:
            return False, None
        self.copy(to, source, size)
        return True, to

    def _make_string(self, place: int, text: bytes) -> None:
        if self.is_new_abi:
            start = place + 16 if len(text) <= _SHORT else self._allocate(len(text) + 1)
            self.store(place, 8, start)
            self.store(place + 8, 8, len(text))
            if start != place + 16:
                self.store(place + 16, 8, len(text))
        else:
            start = self._allocate(len(text) + 25) + 24
            self.store(start - 24, 8, len(text))
            self.store(place, 8, start)
        for offset, byte in enumerate(text + b"\0"):
            self.store(start + offset, 1, byte)

    def _text(self, address: int) -> bytes:
        try:
            return self._image.text_at(address)
        except MalformedError as error:
            raise Stop(str(error)) from error

    def _allocate(self, size: int) -> int:
        start, self._next = self._next, self._next + (size + _SPARE + 15 & ~15)
        if self._next > HEAP + _HEAP_ROOM:
            raise Stop("it asks for more memory than any table of settings needs")
        return start

    def _touch(self, size: int) -> None:
        """Count bytes, so that no code keeps a reader busy or fills his memory."""
        self._touched += size
        if self._touched > _MOST_TOUCHED:
            raise Stop("it reads and writes more than any table of settings holds")

    def _byte(self, address: int) -> int | None:
        if address in self._written:
            return self._written[address]
        if address < 0 or self.is_stack(address) or self._is_heap(address):
            return None
        part = self._image.part(address)
        if part is None or (part.is_writable and address < part.address + part.size):
            return None  # the loader writes addresses there
        return self._image.bytes_at(address, 1)[0]

    def _can_write(self, address: int) -> bool:
        return address < 0 or self.is_stack(address) or self._is_heap(address) or self._is_static(address)

    def _is_heap(self, address: int | None) -> bool:
        return address is not None and HEAP <= address < self._next

    def _is_static(self, address: int | None) -> bool:
        """A variable of the library."""
        part = self._image.part(address) if address is not None else None
        return part is not None and part.is_writable

    def _is_constant(self, address: int) -> bool:
        part = self._image.part(address)
        return part is not None and not part.is_writable
