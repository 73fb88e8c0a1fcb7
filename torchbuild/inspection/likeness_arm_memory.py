"""Loads and stores of AArch64, followed on paper: where they reach, and how far."""

from __future__ import annotations

from typing import NamedTuple

from torchbuild.inspection.likeness_frame import MASK

__all__ = ["Access", "access", "bits", "fits", "moved", "signed_bits"]

_OPTIONS = {2: 32, 3: 64}
"""How an index is taken: its lower half, or whole."""


class Access(NamedTuple):
    """One load or store."""

    size: int
    """Bytes of each register."""
    is_vector: bool
    is_load: bool
    is_signed: bool
    base: int
    """Register with the address."""
    before: int
    """What is added to the address first."""
    after: int | None
    """What the base becomes more by; None where it stays."""
    added: int | None
    """Register that is added too."""
    added_bits: int
    """How much of it."""
    shift: int
    """How far it is shifted."""
    targets: tuple[int, ...]
    """Registers that are loaded or stored, in the order of memory."""


def bits(word: int, at: int, count: int) -> int:
    """Some bits of an instruction."""
    return word >> at & (1 << count) - 1


def fits(word: int, mask: int, wanted: int) -> bool:
    """Whether an instruction is one of a kind: the bits of a mask are those of a pattern."""
    return word & mask == wanted


def signed_bits(word: int, at: int, count: int) -> int:
    """Some bits, as a number that may be negative."""
    value = bits(word, at, count)
    return value - (1 << count) if value >> (count - 1) else value


def access(word: int) -> Access | None:
    """What an instruction loads or stores; None where it does neither in a way that is known."""
    if fits(word, 0x3A000000, 0x28000000):
        return _pair(word)
    if fits(word, 0x3FFFFC00, 0x08DFFC00):  # an ordered load
        return _single(word, size=1 << (word >> 30), is_vector=False, kind=1)
    is_vector, kind, size = bool(bits(word, 26, 1)), bits(word, 22, 2), 1 << (word >> 30)
    if is_vector and kind & 2:
        if size > 1:
            return None
        size, kind = 16, kind & 1
    found = _single(word, size=size, is_vector=is_vector, kind=kind)
    return None if found is None else _placed(word, found)


def _placed(word: int, found: Access) -> Access | None:
    """The same with its address: at a distance, moved on, or with an index."""
    size, step = found.size, signed_bits(word, 12, 9)
    if fits(word, 0x3B000000, 0x39000000):
        return found._replace(before=bits(word, 10, 12) * size)
    if fits(word, 0x3B200C00, 0x38000000):
        return found._replace(before=step)
    if fits(word, 0x3B200C00, 0x38000400):
        return found._replace(after=step)
    if fits(word, 0x3B200C00, 0x38000C00):
        return found._replace(before=step, after=step)
    if fits(word, 0x3B200C00, 0x38200800) and bits(word, 13, 3) in _OPTIONS:
        shift = size.bit_length() - 1 if bits(word, 12, 1) else 0
        wide = _OPTIONS[bits(word, 13, 3)]
        return found._replace(added=bits(word, 16, 5), added_bits=wide, shift=shift)
    return None


def _single(word: int, *, size: int, is_vector: bool, kind: int) -> Access | None:
    if kind > 1 and (is_vector or size > 4):  # noqa: PLR2004  a hint, and what is not there
        return None
    return Access(
        size=size,
        is_vector=is_vector,
        is_load=kind > 0,
        is_signed=kind > 1,
        base=bits(word, 5, 5),
        before=0,
        after=None,
        added=None,
        added_bits=64,
        shift=0,
        targets=(bits(word, 0, 5),),
    )


def _pair(word: int) -> Access | None:
    is_vector, width, mode = bool(bits(word, 26, 1)), word >> 30, bits(word, 23, 2)
    if width == 3 or (width == 1 and not is_vector):  # noqa: PLR2004
        return None
    size = 4 << width if is_vector else 4 << (width >> 1)
    step = signed_bits(word, 15, 7) * size
    return Access(
        size=size,
        is_vector=is_vector,
        is_load=bool(bits(word, 22, 1)),
        is_signed=False,
        base=bits(word, 5, 5),
        before=0 if mode == 1 else step,
        after=step if mode in (1, 3) else None,
        added=None,
        added_bits=64,
        shift=0,
        targets=(bits(word, 0, 5), bits(word, 10, 5)),
    )


def moved(base: int, amount: int) -> int:
    """An address further on."""
    return base + amount & MASK
