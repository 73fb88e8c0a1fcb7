"""Questions whose answers were derived by hand: read, and held against an advice. See `golden/README.md`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.advice.raw_facts import holds, matching_rows, numbers
from torchbuild.advice.answer import Advice, Way
from torchbuild.advice.wish import Wish

__all__ = ["Question", "differences", "questions"]

_GOLDEN = Path(__file__).with_name("golden")
_VERSIONS = frozenset({"cuda.version", "python.version"})


@dataclass(frozen=True)
class Question:
    """One question with its answer."""

    name: str
    theme: str
    ask: str
    wish: Wish
    is_possible: bool
    expect: dict[str, Any]
    notes: tuple[str, ...]
    references: frozenset[str]
    either: frozenset[str]
    ways: tuple[dict[str, Any], ...]
    never: tuple[dict[str, Any], ...]
    facts: tuple[dict[str, str], ...]


def questions() -> list[Question]:
    """All of them, by theme."""
    return [
        _question(path.stem, row)
        for path in sorted(_GOLDEN.glob("*.toml"))
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["question"]
    ]


def _question(theme: str, row: dict[str, Any]) -> Question:
    known = {
        "name",
        "ask",
        "answer",
        "wish",
        "expect",
        "notes",
        "references",
        "either",
        "ways",
        "never",
        "facts",
    }
    assert not row.keys() - known, row["name"]
    assert row["answer"] in ("works", "refused"), row["name"]
    wish = {key: tuple(value) if isinstance(value, list) else value for key, value in row["wish"].items()}
    return Question(
        name=row["name"],
        theme=theme,
        ask=row["ask"],
        wish=Wish.model_validate(wish),
        is_possible=row["answer"] == "works",
        expect=row.get("expect", {}),
        notes=tuple(row.get("notes", [])),
        references=frozenset(row.get("references", [])),
        either=frozenset(row.get("either", [])),
        ways=tuple(row.get("ways", [])),
        never=tuple(row.get("never", [])),
        facts=tuple(row["facts"]),
    )


def differences(question: Question, advice: Advice) -> list[str]:
    """What an advice says otherwise than the answer, a line each."""
    if advice.is_possible is not question.is_possible:
        return [f"{'refused' if question.is_possible else 'possible'}: {_told(advice)}"]
    found = _possible(question, advice) if question.is_possible else _refused(question, advice)
    return list(found)


def _told(advice: Advice) -> str:
    if advice.is_possible:
        return "; ".join(f"{item.key} = {item.value}" for item in advice.choices)
    return "; ".join(f"{item.reference}: {item.what}" for item in advice.conflicts)


def _possible(question: Question, advice: Advice) -> Iterator[str]:
    for key, wanted in question.expect.items():
        got = advice.value(key)
        if not _is_one(key, got, wanted):
            yield f"{key}: wanted {wanted!r}, got {got!r}"
    for word in question.notes:
        if not any(word in note for note in advice.notes):
            yield f"no note says {word!r}: {advice.notes}"


def _is_one(key: str, got: str, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_is_one(key, got, item) for item in wanted)
    if wanted[:1] in ("<", ">", "="):
        return bool(got) and holds(got, wanted)
    return bool(got == wanted or (key in _VERSIONS and wanted and got.startswith(f"{wanted}.")))


def _refused(question: Question, advice: Advice) -> Iterator[str]:
    got = {item.reference for item in advice.conflicts}
    yield from (f"no conflict {name}, but {sorted(got)}" for name in sorted(question.references - got))
    if question.either and not question.either & got:
        yield f"none of {sorted(question.either)}, but {sorted(got)}"
    yield from (
        f"no way out {way}, but {_ways(advice)}" for way in question.ways if not _has_way(advice, way)
    )
    yield from (f"a way out {way} that is none" for way in question.never if _has_way(advice, way))
    cited = [fact for item in advice.conflicts for fact in item.facts]
    for fact in question.facts:
        if not any(_is_same(fact, item.table, item.row) for item in cited):
            yield f"{fact['table']} {fact['row']} is not cited, but {sorted({(c.table, c.row) for c in cited})}"


def _is_same(fact: dict[str, str], table: str, row: str) -> bool:
    if table != fact["table"]:
        return False
    if table == "wish":
        return row.startswith(fact["row"])
    return bool(matching_rows(table, fact["row"]) & matching_rows(table, row))


def _ways(advice: Advice) -> list[dict[str, Any]]:
    return [_changes(advice.wish, way.wish) for way in advice.ways]


def _changes(wish: Wish, other: Wish) -> dict[str, Any]:
    return {
        key: getattr(other, key) for key in Wish.model_fields if getattr(other, key) != getattr(wish, key)
    }


def _has_way(advice: Advice, wanted: dict[str, Any]) -> bool:
    return any(_is_way(way, advice.wish, wanted) for way in advice.ways)


def _is_way(way: Way, wish: Wish, wanted: dict[str, Any]) -> bool:
    changed = _changes(wish, way.wish)
    chosen = {item.key: item.value for item in way.choices}
    return changed.keys() == wanted.keys() and all(
        _meets(changed[key] or chosen.get(f"{key}.version", ""), wanted[key]) for key in wanted
    )


def _meets(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return list(got) == wanted
    if wanted in ("*", got):
        return True
    if isinstance(wanted, bool):
        return False
    if wanted[:1] in "<>=":
        return bool(got) and holds(got, wanted)
    return numbers(got)[: len(numbers(wanted))] == numbers(wanted)
