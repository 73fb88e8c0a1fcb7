"""Vector instructions of x86-64, followed on paper: whole strings are copied with them."""

from __future__ import annotations

from torchbuild.inspection.likeness_frame import Frame, Stop
from torchbuild.inspection.likeness_image import Image
from torchbuild.inspection.likeness_x86_operands import Operands, Place

__all__ = ["Vectors"]

_SIZE = 16
_LONGEST = 32
_FIRST_TABLE = 1
_ENDS = 0x77
"""vzeroupper."""

# prefix and code of each instruction
_LOADS = {(0, 0x10), (0x66, 0x10), (0, 0x28), (0x66, 0x28), (0x66, 0x6F), (0xF3, 0x6F)}
_STORES = {(0, 0x11), (0x66, 0x11), (0, 0x29), (0x66, 0x29), (0x66, 0x7F), (0xF3, 0x7F)}
_CLEARS = {(0, 0x57), (0x66, 0x57), (0x66, 0xEF)}
_FROM_NUMBER, _TO_NUMBER = (0x66, 0x6E), (0x66, 0x7E)
_LOAD_LOW, _STORE_LOW = (0xF3, 0x7E), (0x66, 0xD6)
_JOINS = {(0, 0x16), (0x66, 0x16), (0x66, 0x6C)}

_Vector = bytes | None


class Vectors(Operands):
    """Registers of 16 or 32 bytes, with what moves them."""

    def __init__(self, image: Image, frame: Frame, start: int) -> None:
        """Begin at an address, with nothing known."""
        super().__init__(image, frame, start)
        self._vectors: list[_Vector] = [None] * 16

    def _forget_vectors(self) -> None:
        self._vectors = [None] * 16

    def _vector(self, code: int, size: int = _SIZE, other: int | None = None) -> None:
        """One instruction.

        Args:
            code: its code, the first byte of which is behind us.
            size: bytes of its operands.
            other: the register that it takes besides, in AVX's spelling; the same as the target where None.
        """
        number, place = self._operands()
        kind = (self._prefix, code)
        if kind in _LOADS:
            self._vectors[number] = self._loaded(place, size)
        elif kind in _STORES:
            self._stored(place, self._vectors[number], size)
        elif kind in (_FROM_NUMBER, _LOAD_LOW):
            self._vectors[number] = self._low(place, is_general=kind == _FROM_NUMBER)
        elif kind in (_TO_NUMBER, _STORE_LOW):
            self._store_low(place, self._vectors[number], is_general=kind == _TO_NUMBER)
        else:
            self._vectors[number] = self._combined(kind, place, number if other is None else other)
        self._done()

    def _combined(self, kind: tuple[int, int], place: Place, other: int) -> _Vector:
        """What two operands make together."""
        if kind in _CLEARS and place.register == other:
            return bytes(_LONGEST)
        if kind not in _JOINS:
            raise self._unknown()
        low, high = self._vectors[other], self._loaded(place, 8)
        return None if low is None or high is None else low[:8] + high[:8] + bytes(_SIZE)

    def _loaded(self, place: Place, size: int) -> _Vector:
        if place.register is not None:
            return self._vectors[place.register]
        found = None if place.address is None else self._frame.known_text(place.address, size)
        return None if found is None else found + bytes(_LONGEST - size)

    def _stored(self, place: Place, value: _Vector, size: int) -> None:
        if place.register is not None:
            self._vectors[place.register] = value
            return
        if place.address is None:
            raise Stop("it writes to a place that is not known")
        for offset in range(size):
            self._frame.store(place.address + offset, 1, None if value is None else value[offset])

    def _width(self, *, is_general: bool) -> int:
        return 4 if is_general and self._size != 8 else 8  # noqa: PLR2004  bytes

    def _low(self, place: Place, *, is_general: bool) -> _Vector:
        width = self._width(is_general=is_general)
        if is_general or place.register is None:
            value = self._get(place, width)
            return None if value is None else value.to_bytes(_LONGEST, "little")
        found = self._vectors[place.register]
        return None if found is None else found[:width] + bytes(_LONGEST - width)

    def _store_low(self, place: Place, value: _Vector, *, is_general: bool) -> None:
        width = self._width(is_general=is_general)
        if is_general or place.register is None:
            self._put(place, width, None if value is None else int.from_bytes(value[:width], "little"))
        else:
            self._vectors[place.register] = None if value is None else value[:width] + bytes(_LONGEST - width)

    def _avx(self, is_long: bool) -> None:  # noqa: FBT001  how the instruction begins
        """The same instructions in AVX's spelling."""
        second = self._byte()
        third = second
        if is_long:
            third = self._byte()
            self._extra = (~second & 0xE0) >> 5 | third >> 4 & 8
            if second & 31 != _FIRST_TABLE:
                raise self._unknown()
        else:
            self._extra = (~second & 0x80) >> 5
        self._prefix, self._is_short = (0, 0x66, 0xF3, 0xF2)[third & 3], False
        code = self._byte()
        if code == _ENDS:
            self._done()
            return
        self._vector(code, _LONGEST if third & 4 else _SIZE, self._other(code, ~third >> 3 & 15))

    def _other(self, code: int, number: int) -> int | None:
        kind = (self._prefix, code)
        return number if kind in _CLEARS or kind in _JOINS else None
