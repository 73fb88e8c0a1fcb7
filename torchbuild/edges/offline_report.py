"""What the guard of an offline command left: who asked the network for what. Pure; the record is hostile."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from torchbuild.errors import StageError

__all__ = ["OfflineRecord", "asked_in", "network_asked", "parse_record"]

_MOST_ANCESTORS = 6
_LONGEST = 300
_SPOKEN = re.compile(r"torchbuild: no network here: (?P<who>.*) asked for (?P<what>.*)")
_SERVICE_FIX = (
    "Let its own services listen below /torchbuild or /tmp, or turn off the feature that asks for this one."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class OfflineRecord:
    """How one command was watched, and what it asked for."""

    watch: str = ""
    """``notify``, ``deny`` or ``none``; empty where the guard left no word."""
    why_unwatched: str = ""
    """Why not better than that."""
    program_missing: str = ""
    """Why the command's program did not start; empty where it did."""
    asked: tuple[dict[str, Any], ...] = ()
    """Each thing asked for, first to last, with the process that asked."""


def parse_record(text: str) -> OfflineRecord:
    """Read the guard's lines; what is none of them is passed over."""
    items = [item for line in text.splitlines() if isinstance(item := _decoded(line), dict)]
    first = next((item for item in items if item.get("event") == "guard"), {})
    missing = next((item for item in items if item.get("event") == "not-started"), {})
    return OfflineRecord(
        watch=_plain(first.get("watch", "")),
        why_unwatched=_plain(first.get("why", "")),
        program_missing=_plain(missing.get("error", "")),
        asked=tuple(item for item in items if item.get("event") == "asked"),
    )


def asked_in(lines: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    """What the guard said aloud, where its record is gone: the last such line, or that nobody knows."""
    for line in reversed(lines):
        found = _SPOKEN.fullmatch(line.strip())
        if found:
            return ({"what": found["what"], "argv": [found["who"]]},)
    return ({"what": "something; what it was is not on record", "argv": ["a process"]},)


def _decoded(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def network_asked(asked: tuple[dict[str, Any], ...], *, tail: tuple[str, ...], log: str) -> StageError:
    """The error for a build that wanted something from elsewhere.

    Args:
        asked: from the record, at least one.
        tail: the last lines that the command printed.
        log: where all of them are.
    """
    first = asked[0]
    what = _plain(first.get("what", "")) or "something"
    via = _plain(first.get("where", ""))
    asker = f"asked by: {_words(first)}, in {_plain(first.get('cwd')) or 'no directory'}"
    ancestors = first.get("ancestors")
    listed = ancestors if isinstance(ancestors, list) else []
    started = [item for item in listed if isinstance(item, dict)]
    return StageError(
        "network-asked",
        f"the build asked {_whom(first)} {what} and was stopped there",
        why=(
            f"seen: {what}" + ("" if via in ("", what) else f", asked of the name server {via}"),
            asker,
            *(f"started by: {_words(item)}" for item in started[:_MOST_ANCESTORS]),
            "wanted: nothing is fetched between source and package",
        ),
        fix=_SERVICE_FIX
        if _is_service(first)
        else "Lay what it fetches into the tree with [[source.overlay]] of the recipe, or turn off the "
        "feature that fetches it.",
        evidence=tail,
        link=log,
    )


def _is_service(asked: dict[str, Any]) -> bool:
    return asked.get("kind") == "service"


def _whom(asked: dict[str, Any]) -> str:
    return "for a service of the machine:" if _is_service(asked) else "the network for"


def _words(process: dict[str, Any]) -> str:
    argv = process.get("argv")
    words = " ".join(part for part in argv if isinstance(part, str)) if isinstance(argv, list) else ""
    return _plain(words) or f"process {_plain(str(process.get('pid', '')))}"


def _plain(text: object) -> str:
    """One line of printable characters, of a length that a person reads."""
    if not isinstance(text, str):
        return ""
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return clean if len(clean) <= _LONGEST else clean[: _LONGEST - 1] + "…"
