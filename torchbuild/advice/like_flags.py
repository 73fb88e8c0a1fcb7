"""Switches of an existing build as lines of a recipe."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.advice.like_line import LikeLine
from torchbuild.knowledge.fact import facts_file
from torchbuild.knowledge.flag_facts import flag_facts
from torchbuild.model.likeness import Likeness, LikeSetting

__all__ = ["flag_lines", "unknown_switches"]

_CUDA = "USE_CUDA"
_NAMES = ("USE_", "BUILD_")
_STATES = {"ON": True, "1": True, "OFF": False, "0": False}


def flag_lines(likeness: Likeness, tabled: tuple[str, ...], *, is_other: bool = False) -> Iterator[LikeLine]:
    """Each switch that was read and that is an option of the tree, by name.

    Args:
        likeness: what was read.
        tabled: libraries that the recipe has a table for: the switch of another one stays out where it is on,
            for nothing would provide it.
        is_other: whether it becomes a CUDA build, and was one for the CPU: then switches of CUDA stay out.
    """
    options = {row.name for row in flag_facts(likeness.version.value) if row.kind == "bool"}
    without = {row["switch"] for name, row in facts_file("libraries").items() if name not in tabled}
    for item in sorted((*likeness.settings, *likeness.flags), key=lambda item: item.name):
        state = _STATES.get(item.value.upper())
        if state is None or item.name not in options or (item.name in without and (state or is_other)):
            continue
        if is_other and item.name == _CUDA:
            continue
        yield LikeLine(key=f"build.flags.{item.name}", value=state, comment=_comment(item, likeness))
    if likeness.blas.value == "mkl" and likeness.blas_state.value == "static":
        yield LikeLine(
            key="build.flags.USE_STATIC_MKL", value=True, comment=f"as {likeness.blas_state.where}"
        )


def unknown_switches(likeness: Likeness) -> tuple[LikeSetting, ...]:
    """Switches that were read and are no option that is known, by name: none goes into a recipe."""
    options = {row.name for row in flag_facts(likeness.version.value)}
    return tuple(
        item
        for item in sorted((*likeness.settings, *likeness.flags), key=lambda item: item.name)
        if item.value.upper() in _STATES and item.name.startswith(_NAMES) and item.name not in options
    )


def _comment(item: LikeSetting, likeness: Likeness) -> str:
    if item in likeness.settings:
        return f"config.show() says {item.value}"
    return f"as {item.where}"
