"""A library with the function that torch keeps its settings in, assembled by hand: no cross compiler."""

from __future__ import annotations

import struct
from collections.abc import Mapping

__all__ = ["AARCH64", "X86_64", "arm_library", "code_library"]

AARCH64, X86_64 = 183, 62

_NAME = b"_ZN6caffe215GetBuildOptionsB5cxx11Ev"
_STATIC = 0x100000
_CODE_ALONE = 0x400
_FRAME = 0x20
_SP = 31
_SHORT = 3


class _Assembler:
    """Instructions one after another, at addresses that are known."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.words: list[int] = []

    @property
    def at(self) -> int:
        return self.start + 4 * len(self.words)

    def put(self, *words: int) -> None:
        self.words += words

    def add(self, to: int, base: int, number: int) -> None:
        self.put(0x91000000 | number << 10 | base << 5 | to)

    def address(self, to: int, target: int) -> None:
        """Adrp and add."""
        pages = (target >> 12) - (self.at >> 12)
        self.put(0x90000000 | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5 | to)
        self.add(to, to, target & 0xFFF)

    def number(self, to: int, value: int) -> None:
        """Movz and movk."""
        self.put(0x52800000 | (value & 0xFFFF) << 5 | to)
        if value >> 16:
            self.put(0x72A00000 | value >> 16 << 5 | to)

    def call(self) -> None:
        """Bl to somewhere: what is called is told by its arguments."""
        self.put(0x94000000 | 0x100)

    def string(self, place: int, text: bytes, address: int) -> None:
        """A string: made by a function, or, where it is short, letter by letter."""
        if len(text) > _SHORT:
            self.add(0, _SP, place)
            self.address(1, address)
            self.call()
            return
        self.add(3, _SP, place + 16)
        self.number(4, len(text))
        # as a pair where that reaches, else one by one; then the letters with the NUL
        if place < 0x1F0:
            self.put(0xA9000000 | (place // 8 & 0x7F) << 15 | 4 << 10 | _SP << 5 | 3)
        else:
            self.put(0xF9000000 | place // 8 << 10 | _SP << 5 | 3)
            self.put(0xF9000000 | (place + 8) // 8 << 10 | _SP << 5 | 4)
        self.number(5, int.from_bytes(text.ljust(4, b"\0"), "little"))
        self.put(0xB9000000 | (place + 16) // 4 << 10 | _SP << 5 | 5)


def arm_library(settings: Mapping[str, str]) -> bytes:
    """The library's bytes."""
    texts = [part.encode() for pair in settings.items() for part in pair]
    pool, places = bytearray(), []
    for text in texts:
        places.append(len(pool))
        pool += text + b"\0"
    strings_at = 0x400
    code_at = strings_at + len(pool) + 63 & ~63
    code = _function(code_at, texts, [strings_at + place for place in places], len(settings))
    body = bytes(pool).ljust(code_at - strings_at, b"\0") + code
    return _library(strings_at, body, code_at, len(code))


def code_library(code: bytes, machine: int) -> bytes:
    """A library whose function is these bytes, with nothing behind them."""
    return _library(_CODE_ALONE, code, _CODE_ALONE, len(code), machine)


def _function(start: int, texts: list[bytes], places: list[int], count: int) -> bytes:
    made = _Assembler(start)
    made.put(0xD503245F, 0xD14007FF)  # bti; sub sp, sp, #1, lsl #12
    made.address(0, _STATIC)
    made.put(0x39400001, 0x36000041, 0xD65F03C0)  # ldrb w1, [x0]; tbz w1, #0, past the next; ret
    made.call()
    made.put(0x35000040, 0xD65F03C0)  # cbnz w0, past the next; ret
    for number, (text, place) in enumerate(zip(texts, places, strict=True)):
        made.string(_FRAME + 32 * number, text, place)
    made.address(0, _STATIC + 16)
    made.add(1, _SP, _FRAME)
    made.number(2, count)
    made.call()
    made.put(0xD65F03C0)
    return struct.pack(f"<{len(made.words)}I", *made.words)


def _library(at: int, body: bytes, code_at: int, code_size: int, machine: int = AARCH64) -> bytes:
    names = b"\0" + _NAME + b"\0"
    value = 5381
    for letter in _NAME:
        value = (value * 33 + letter) & 0xFFFFFFFF
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, code_at, code_size)
    hashes = struct.pack("<IIIIQII", 1, 1, 1, 0, 2**64 - 1, 1, value | 1)
    head = bytearray(64 + 3 * 56)
    places = {}
    for name, piece in (("symbols", symbols), ("names", names), ("hashes", hashes)):
        head += bytes(-len(head) % 8)
        places[name] = len(head)
        head += piece
    head += bytes(-len(head) % 8)
    dynamic = len(head)
    tags = [(6, places["symbols"]), (5, places["names"]), (0x6FFFFEF5, places["hashes"]), (0, 0)]
    head += b"".join(struct.pack("<qQ", *tag) for tag in tags)
    whole = bytes(head).ljust(at, b"\0") + body
    header = struct.pack(
        "<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 3, machine, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0
    )
    segments = (
        struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, len(whole), len(whole), 4096),
        struct.pack("<IIQQQQQQ", 1, 6, 0, _STATIC, 0, 0, 4096, 4096),
        struct.pack("<IIQQQQQQ", 2, 6, dynamic, dynamic, 0, 64, 64, 8),
    )
    return header + b"".join(segments) + whole[len(header) + 3 * 56 :]
