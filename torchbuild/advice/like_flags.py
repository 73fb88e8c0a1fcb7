"""Switches of an existing build as lines of a recipe."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.advice.like_line import LikeLine
from torchbuild.knowledge.fact import facts_file
from torchbuild.knowledge.flag_facts import flag_facts
from torchbuild.model.likeness import Likeness, LikeSetting

__all__ = ["flag_lines"]

_STATES = {"ON": True, "1": True, "OFF": False, "0": False}


def flag_lines(likeness: Likeness, tabled: tuple[str, ...]) -> Iterator[LikeLine]:
    """Each switch that was read and that is an option of the tree, by name.

    Args:
        likeness: what was read.
        tabled: libraries that the recipe has a table for: the switch of another one stays out where it is on,
            for nothing would provide it.
    """
    options = {row.name for row in flag_facts(likeness.version.value) if row.kind == "bool"}
    without = {row["switch"] for name, row in facts_file("libraries").items() if name not in tabled}
    for item in sorted((*likeness.settings, *likeness.flags), key=lambda item: item.name):
        state = _STATES.get(item.value.upper())
        if state is None or item.name not in options or (state and item.name in without):
            continue
        yield LikeLine(key=f"build.flags.{item.name}", value=state, comment=_comment(item, likeness))
    if likeness.blas.value == "mkl" and likeness.blas_state.value == "static":
        yield LikeLine(
            key="build.flags.USE_STATIC_MKL", value=True, comment=f"as {likeness.blas_state.where}"
        )


def _comment(item: LikeSetting, likeness: Likeness) -> str:
    if item in likeness.settings:
        return f"config.show() says {item.value}"
    return f"as {item.where}"
