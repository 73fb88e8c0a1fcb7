"""``--set`` of ``torchbuild init``: keys laid over the lines of a new recipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchbuild.advice.like_line import LikeLine
from torchbuild.advice.recipe_rows import merged_rows
from torchbuild.advice.recipe_text import key_text, value_text
from torchbuild.resolve.overrides import Override, parse_override

__all__ = ["laid_over", "parsed_sets", "typed"]

_AS_SET = "as --set says"


def parsed_sets(texts: Iterable[str]) -> tuple[Override, ...]:
    """Each key with its value; a table is its keys, so that the facts see what stands in it.

    Raises:
        RecipeError: ``override-invalid``.
    """
    return tuple(item for text in texts for item in _flat(parse_override(text)))


def typed(item: Override) -> str:
    """As it is typed behind ``--set``."""
    return f"{key_text(item.path)}={item.text}"


def laid_over(
    rows: tuple[LikeLine, ...], sets: Iterable[Override], *, plain: frozenset[str] = frozenset()
) -> tuple[LikeLine, ...]:
    """The rows with what is set in their place. A key that was a table, or is one now, is not both.

    Args:
        rows: of the recipe.
        sets: in the order in which they were given: the last one counts.
        plain: dotted keys where only text may stand: what was typed without quotes is text there.
    """
    for item in sets:
        key = item.dotted
        if item.value == {} and any(row.key.startswith(f"{key}.") for row in rows):
            continue  # it is a table already
        kept = [row for row in rows if not (row.key.startswith(f"{key}.") or key.startswith(f"{row.key}."))]
        value = item.text if key in plain else item.value
        rows = merged_rows(kept, (LikeLine(key=key, value=_held(value), comment=_AS_SET),))
    return rows


def _flat(item: Override) -> Iterator[Override]:
    if not isinstance(item.value, dict) or not item.value:
        yield item
        return
    for name, value in item.value.items():
        yield from _flat(Override((*item.path, name), value, value_text(value)))


def _held(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
