"""CMake's language as a tree of blocks. Reading alone: nothing is evaluated, and no file is opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Argument", "Block", "Call", "Choice", "Definition", "Loop", "Room", "read_script"]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument as it was written."""

    text: str
    """Without its quotes or brackets."""
    kind: str
    """``RAW``, ``QUOTED``, ``BRACKETED``, ``LPAREN`` or ``RPAREN``."""


@dataclass(frozen=True, slots=True)
class Call:
    """One command."""

    name: str
    """In lower case."""
    arguments: tuple[Argument, ...]
    """In order."""
    line: int
    """Where it stands, from 1."""


@dataclass(frozen=True, slots=True)
class Choice:
    """``if`` to ``endif``."""

    branches: tuple[tuple[tuple[Argument, ...] | None, tuple[Block, ...]], ...]
    """Each condition with its body; ``else`` has no condition."""


@dataclass(frozen=True, slots=True)
class Loop:
    """``foreach`` or ``while``."""

    arguments: tuple[Argument, ...]
    """What it goes over."""
    is_counted: bool
    """``foreach``; a ``while`` goes on as long as its condition holds."""
    body: tuple[Block, ...]
    """What it repeats."""


@dataclass(frozen=True, slots=True)
class Room:
    """``block`` to ``endblock``: a scope of its own."""

    arguments: tuple[Argument, ...]
    """What of it is handed out."""
    body: tuple[Block, ...]
    """What runs in it."""


@dataclass(frozen=True, slots=True)
class Definition:
    """``function`` or ``macro``."""

    name: str
    """In lower case."""
    is_macro: bool
    """A macro's body runs where it is called."""
    parameters: tuple[str, ...]
    """Names of the formal arguments."""
    body: tuple[Block, ...]
    """What a call runs."""


Block = Call | Choice | Loop | Room | Definition
_BRANCHES = ("elseif", "else", "endif")


def read_script(text: str) -> tuple[Block, ...] | None:
    """The blocks of a file; None where it is not CMake's language, or its blocks do not close."""
    from cmake_parser.error import CMakeParseError  # noqa: PLC0415  locking alone needs it
    from cmake_parser.parser import parse_raw  # noqa: PLC0415  as before

    try:
        calls = [
            Call(
                command.identifier.lower(),
                tuple(Argument(token.value, token.kind) for token in command.args if token.kind != "COMMENT"),
                command.line,
            )
            for command in parse_raw(text, skip_comments=True)
        ]
        left = iter(calls)
        blocks, end = _body(left, ())
    except (CMakeParseError, RecursionError, TypeError):  # the library trips over some damaged files
        return None
    return None if end is not None or next(left, None) is not None else blocks


def _body(calls: Iterator[Call], ends: tuple[str, ...]) -> tuple[tuple[Block, ...], Call | None]:
    """Blocks up to the first of `ends`, and that call; no call at the end of the file."""
    blocks: list[Block] = []
    for call in calls:
        if call.name in ends:
            return tuple(blocks), call
        blocks.append(_block(call, calls))
    return tuple(blocks), None


def _block(call: Call, calls: Iterator[Call]) -> Block:
    match call.name:
        case "if":
            return _choice(call, calls)
        case "foreach" | "while":
            return Loop(call.arguments, call.name == "foreach", _body(calls, (f"end{call.name}",))[0])
        case "block":
            return Room(call.arguments, _body(calls, ("endblock",))[0])
        case "function" | "macro":
            body, _ = _body(calls, (f"end{call.name}",))
            names = [item.text for item in call.arguments]
            return Definition(names[0].lower() if names else "", call.name == "macro", tuple(names[1:]), body)
        case _:
            return call


def _choice(call: Call, calls: Iterator[Call]) -> Choice:
    branches: list[tuple[tuple[Argument, ...] | None, tuple[Block, ...]]] = []
    condition: tuple[Argument, ...] | None = call.arguments
    while True:
        body, end = _body(calls, _BRANCHES)
        branches.append((condition, body))
        if end is None or end.name == "endif":
            return Choice(tuple(branches))
        condition = None if end.name == "else" else end.arguments
