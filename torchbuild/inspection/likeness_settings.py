"""The build settings that ``config.show()`` prints, read out of the library without running it.

They are no data: the compiler makes instructions of them, which fill a table of pairs of strings, short ones
letter by letter. The one function that does it is followed on paper from its first instruction to where the
table is handed on, and then the table must be whole: each string ends where its length says, each key is one,
and the place where the table ends is named by the code that takes it over. Else nothing is said.
"""

from __future__ import annotations

import re
from itertools import count

from torchbuild.inspection.bounded import BoundedFile, MalformedError
from torchbuild.inspection.likeness_follower import Follower
from torchbuild.inspection.likeness_frame import STACK, Frame, Stop
from torchbuild.inspection.likeness_image import Image, Symbol
from torchbuild.inspection.text import escaped

__all__ = ["SettingsUnreadError", "build_settings", "string_abi"]

_NAMES = (("_ZN6caffe215GetBuildOptionsB5cxx11Ev", True), ("_ZN6caffe215GetBuildOptionsEv", False))
"""The function, where a string is an object, and where it is a pointer."""
_KEY = re.compile(rb"[A-Z][A-Z0-9_]*")
_MOST_STEPS = 20_000
_MOST_PAIRS = 256
_FEWEST_PAIRS = 8
_FRAME_ROOM = 1 << 16


class SettingsUnreadError(Exception):
    """The settings cannot be read; its text is a clause that says why."""


def build_settings(file: BoundedFile) -> tuple[tuple[str, str], ...]:
    """Keys and values, sorted by key as they are printed; empty values are kept, though never printed.

    Raises:
        SettingsUnreadError: the library has no such function, or it is not understood to its end.
    """
    try:
        image = Image(file)
        symbol, is_new_abi = _function(image)
        frame = Frame(image, is_new_abi=is_new_abi)
        pairs = _table(frame, _follow(image, frame, symbol), symbol)
    except (MalformedError, Stop) as error:
        raise SettingsUnreadError(str(error)) from error
    return tuple(sorted(pairs))


def string_abi(file: BoundedFile) -> str:
    """``1`` where the function is one of libstdc++'s new ABI, ``0`` where of the old; else empty."""
    try:
        return "1" if _function(Image(file))[1] else "0"
    except (MalformedError, SettingsUnreadError):
        return ""


def _function(image: Image) -> tuple[Symbol, bool]:
    for name, is_new_abi in _NAMES:
        symbol = image.symbol(name)
        if symbol is not None:
            return symbol, is_new_abi
    raise SettingsUnreadError("it does not export the function that holds them")


def _follow(image: Image, frame: Frame, symbol: Symbol) -> Follower:
    """Follow the function until its table is handed on."""
    follower = Follower(image, frame, symbol.address)
    stop = symbol.address + symbol.size
    try:
        for _ in range(_MOST_STEPS):
            follower.step()
            if not symbol.address <= follower.at < stop:
                break
    except Stop as end:
        if end.is_expected:
            return follower
        raise
    raise SettingsUnreadError(
        f"it is not at its end after {_MOST_STEPS} instructions, or leaves its function"
    )


def _table(frame: Frame, follower: Follower, symbol: Symbol) -> list[tuple[str, str]]:
    """The pairs of the table, where it is whole."""
    place = _first(frame)
    size = 32 if frame.is_new_abi else 8
    pairs: list[tuple[str, str]] = []
    for number in count():
        key, value = (frame.string_at(place + (2 * number + side) * size) for side in (0, 1))
        if key is None or value is None or number >= _MOST_PAIRS or not _KEY.fullmatch(key):
            break
        pairs.append((key.decode("ascii"), escaped(value)))
    if len(pairs) < _FEWEST_PAIRS or len({key for key, _ in pairs}) != len(pairs):
        raise Stop(f"its table holds {len(pairs)} settings, which cannot be all")
    end = place + len(pairs) * 2 * size
    is_counted = follower.arguments[1:] == (place, len(pairs))
    if not is_counted and not follower.names_place(end, symbol.address, symbol.address + symbol.size):
        raise Stop(f"its table may be longer than the {len(pairs)} settings that were read")
    return pairs


def _first(frame: Frame) -> int:
    """Where the table begins: the lowest place of the frame with a string that is a key."""
    for place in range(STACK - _FRAME_ROOM, STACK, 8):
        key = frame.string_at(place)
        if key is not None and _KEY.fullmatch(key):
            return place
    raise Stop("it fills no table of strings")
