"""Lines of a recipe as commented TOML. Deterministic; every value is quoted by a TOML writer."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

import tomli_w

from torchbuild.advice.like_line import LikeLine
from torchbuild.model.recipe import Recipe

__all__ = ["key_text", "recipe_text", "value_text"]

_WIDTH = 100
_SHORT = 60
"""A comment of this many letters stands behind its value, where both fit."""
_INLINE = 100
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def recipe_text(rows: Iterable[LikeLine], head: Iterable[str] = ()) -> str:
    """The file's text.

    Args:
        rows: keys with values and comments, in any order: tables come in the order of the recipe's model.
        head: sentences for the top of the file.
    """
    lines = [line for text in head for line in _comment(text)]
    for table, own in _tables(rows):
        if lines:
            lines.append("")
        if table:
            lines.append(f"[{'.'.join(_key(part) for part in table.split('.'))}]")
        for row in own:
            lines += _row(row)
    return "\n".join(lines) + "\n"


def _tables(rows: Iterable[LikeLine]) -> list[tuple[str, list[LikeLine]]]:
    """Rows by table: the top first, then as the model has them, what lies inside a table behind it."""
    found: dict[str, list[LikeLine]] = {}
    for row in rows:
        found.setdefault(row.key.rpartition(".")[0], []).append(row)
    order = [field.alias or name for name, field in Recipe.model_fields.items()]

    def place(table: str) -> tuple[int, str]:
        top = table.partition(".")[0]
        return (order.index(top) if top in order else len(order)) if table else -1, table

    return sorted(found.items(), key=lambda item: place(item[0]))


def _row(row: LikeLine) -> Iterator[str]:
    key, value = _key(row.key.rpartition(".")[2]), _value(row.value)
    line = f"{key} = {value}"
    comment = _clean(row.comment)
    if comment and "\n" not in comment and "\n" not in line and len(comment) <= _SHORT:
        whole = f"{line}  # {comment}"
        if len(whole) <= _WIDTH:
            yield whole
            return
    if comment:
        yield from _comment(row.comment)
    yield from line.split("\n")


def _comment(text: str) -> Iterator[str]:
    """Lines that begin with ``#``; what follows a line end stands deeper, and behind a space as it is."""
    for number, part in enumerate(_clean(text).split("\n")):
        indent = "  " if number else ""
        if part.startswith(" "):
            yield f"# {indent}{part.strip()}"
            continue
        wrapped = textwrap.wrap(part, _WIDTH - 4, break_long_words=False, break_on_hyphens=False) or [""]
        yield from (f"# {indent}{line}".rstrip() for line in wrapped)


def _clean(text: str) -> str:
    """Without letters that no comment may hold, or that could hide what follows."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def key_text(path: Iterable[str]) -> str:
    """A dotted key; parts with other letters than those of plain names in quotes."""
    return ".".join(map(_key, path))


def _key(name: str) -> str:
    if name and set(name) <= _PLAIN:
        return name
    return tomli_w.dumps({name: 0}).rpartition(" = ")[0]


def value_text(value: object) -> str:
    """A value in one line; a table as one in braces."""
    if isinstance(value, Mapping):
        rows = [f"{_key(str(name))} = {value_text(item)}" for name, item in value.items()]
        return f"{{ {', '.join(rows)} }}" if rows else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(value_text, value))}]"
    return _scalar(value)


def _value(value: object) -> str:
    """The same; a long list has a line an item."""
    text = value_text(value)
    if not isinstance(value, tuple | list) or len(text) <= _INLINE:
        return text
    return "\n".join(("[", *(f"  {value_text(item)}," for item in value), "]"))


def _scalar(value: object) -> str:
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")
