"""Which lines of a wheel that a recipe is to be like go into it: those that still go with what was chosen."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.advice.answer import Advice
from torchbuild.advice.like_line import LikeLine, LikeParts
from torchbuild.advice.of_recipe import WISH_KEYS
from torchbuild.knowledge.libraries import library_fact, library_names

__all__ = ["fitting_rows"]

_SWITCH = "build.flags."
_NAMES = ("USE_", "BUILD_")
"""How the names in ``build.flags`` begin."""


def fitting_rows(parts: LikeParts, advice: Advice) -> Iterator[LikeLine]:
    """The wheel's lines, but for those that an option, or the target, made another choice of.

    With another toolkit its libraries are others too; without one there are none.

    Args:
        parts: what was read.
        advice: what was chosen, with the options.
    """
    dropped = set(_other_tables(parts, advice))
    decided = set(_decided(advice))
    for row in parts.lines:
        table = row.key.partition(".")[0]
        if table in dropped or (row.key == "wheel.local" and "cuda" in dropped):
            continue
        if row.key.removeprefix(_SWITCH) in decided or _is_other(row, advice):
            continue
        yield from _placed(row)


def _placed(row: LikeLine) -> Iterator[LikeLine]:
    """Switches with another name than those of ``build.flags`` are definitions; off needs no line."""
    name = row.key.removeprefix(_SWITCH)
    if not row.key.startswith(_SWITCH) or name.startswith(_NAMES):
        yield row
    elif row.value is not False:
        yield row.model_copy(update={"key": f"build.cmake.{name}"})


def _other_tables(parts: LikeParts, advice: Advice) -> Iterator[str]:
    """Tables of which the wheel's own lines no longer count."""
    toolkit = parts.value("cuda.version")
    is_other = toolkit != (advice.value("cuda.version") or None)
    if is_other:
        yield from ("cuda", *library_names())
        return
    for name in library_names():
        version = parts.value(f"{name}.version")
        wished = getattr(advice.wish, name, "")
        if version is not None and wished not in ("", version):
            yield name


def _decided(advice: Advice) -> Iterator[str]:
    """Switches that tables of the recipe decide."""
    if not advice.value("cuda.version"):
        return
    yield "USE_CUDA"
    for name in library_names():
        if advice.value(f"{name}.version"):
            fact = library_fact(name)
            yield from (fact.switch, fact.system, *fact.needs)


def _is_other(row: LikeLine, advice: Advice) -> bool:
    """Whether something else was chosen for a key of which facts decide."""
    chosen = advice.value(row.key)
    if row.key not in WISH_KEYS or not chosen:
        return False
    value = ",".join(map(str, row.value)) if isinstance(row.value, tuple) else str(row.value)
    return value != chosen.replace(" ", "")
