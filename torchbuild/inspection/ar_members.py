"""Members of a static library (``.a``), as GNU and BSD ar write it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchbuild.inspection.bounded import BoundedFile, MalformedError
from torchbuild.inspection.text import escaped

__all__ = ["AR_MAGIC", "THIN_MAGIC", "Member", "ar_members"]

AR_MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"

_HEADER = 60
_END = b"`\n"
_LONGEST_NAME = 4096
_WEIGHT = 8  # a header, and the first bytes of what follows it
_INDEXES = {"/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64"}
"""Symbol tables; not files that somebody put in."""


class Member(NamedTuple):
    """One file of the archive."""

    name: str
    position: int
    size: int


def ar_members(file: BoundedFile) -> Iterator[Member]:
    """All members but symbol and name tables, in order.

    Raises:
        MalformedError: a header is none, or promises more than is there.
    """
    names = Member("", 0, 0)
    position = len(AR_MAGIC)
    while position < file.size:
        file.step(_WEIGHT)
        header = file.at(position, _HEADER)
        if header[-2:] != _END:
            raise MalformedError(f"no header of a member at {position}")
        text = header[48:58].rstrip()
        if not text.isdigit():
            raise MalformedError(f"a member of {escaped(text)!r} bytes")
        position, size = position + _HEADER, int(text)
        if position + size > file.size:
            raise MalformedError(f"cut off: {file.size} bytes are there, a member ends at {position + size}")
        raw = header[:16].rstrip()
        if raw == b"//":
            names = Member("", position, size)
        else:
            member = _named(file, raw, names, Member("", position, size))
            if member.name not in _INDEXES:
                yield member
        position += size + size % 2


def _named(file: BoundedFile, raw: bytes, names: Member, member: Member) -> Member:
    """The member with its whole name, which may lie in the table of names, or before its bytes."""
    kind, _, number = raw.partition(b"/")
    if not kind and number.isdigit():
        if int(number) >= names.size:
            raise MalformedError(f"a member's name at {int(number)} of {names.size} bytes of names")
        at = names.position + int(number)
        text = file.at(at, min(_LONGEST_NAME, names.position + names.size - at)).partition(b"\n")[0]
        return member._replace(name=escaped(text).removesuffix("/"))
    if kind == b"#1" and number.isdigit():
        length = int(number)
        if length > min(member.size, _LONGEST_NAME):
            raise MalformedError(f"a member's name of {length} bytes")
        name = escaped(file.at(member.position, length).rstrip(b"\0"))
        return Member(name, member.position + length, member.size - length)
    name = escaped(raw)
    return member._replace(name=name if name in _INDEXES else name.removesuffix("/"))
