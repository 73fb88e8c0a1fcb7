"""How quantities and foreign text are written for a person."""

from __future__ import annotations

import re

__all__ = ["duration", "printable", "size"]

_TERMINAL_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erase
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links, clipboard
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # everything shorter
)
# C0 but tab, DEL, C1, and what turns the direction of writing: a log may lie to who reads it
_CONTROL = dict.fromkeys(
    (*range(9), *range(10, 32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
)
_SUSPECT = re.compile("[\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f\u202a-\u202e\u2066-\u2069]")

_MINUTE = 60
_HOUR = 3600
_KIBI = 1024


def printable(text: str) -> str:
    """One line without terminal sequences, control characters or direction overrides.

    Where a tool redrew its line with carriage returns, what it showed last is kept.
    """
    if _SUSPECT.search(text) is None:
        return text
    shown = _TERMINAL_SEQUENCE.sub("", text).rstrip("\r\n").rpartition("\r")[2]
    return shown.replace("\n", " ").translate(_CONTROL)


def duration(seconds: float) -> str:
    """Wall time as one says it: ``2.1 s``, ``12 min 31 s``, ``1 h 07 min``."""
    if seconds < _MINUTE - 0.05:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"


def size(count: int) -> str:
    """Bytes in the unit that leaves few digits: ``812 B``, ``179.4 MiB``."""
    if count < _KIBI:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        value /= _KIBI
        if value < _KIBI:
            return f"{value:.1f} {unit}"
    return f"{value / _KIBI:.1f} TiB"
