"""A build that ``torchbuild init --like`` names, as what a recipe can be like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torchbuild.advice.answer import Advice
from torchbuild.advice.like import like_wish, recipe_like
from torchbuild.advice.like_line import LikeLine, LikeParts
from torchbuild.advice.like_rows import fitting_rows
from torchbuild.advice.recipe_rows import merged_rows, recipe_rows
from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish
from torchbuild.cli.like_source import LikeSource, likeness_for
from torchbuild.model.likeness import Likeness

__all__ = ["Model", "model_called", "model_of", "solved_like"]

_YIELDING = (("nccl",), ("cudnn",), ("nccl", "cudnn"))
"""What gives way, the least first."""
_MISSED = "archs-miss-chip"


@dataclass(frozen=True, slots=True)
class Model:
    """A build that a recipe is to be like."""

    wish: dict[str, Any]
    """What of it is a wish."""
    parts: LikeParts
    """Its lines of a recipe."""
    has_cuda: bool
    """Whether it is one for CUDA, or may be."""

    def solved(self, wish: Wish) -> tuple[Advice, tuple[str, ...]]:
        """As `solved_like`."""
        return solved_like(wish, self.wish)

    def rows(self, advice: Advice, name: str) -> tuple[LikeLine, ...]:
        """All lines: those that were chosen, and its own where they go with them."""
        rows = recipe_rows(advice, name, self.parts.value("blas.provider") or "")
        return merged_rows(rows, fitting_rows(self.parts, advice))

    def comments(self, given_up: tuple[str, ...]) -> tuple[str, ...]:
        """What could not be read of it, and what of it could not be kept."""
        return (*self.parts.comments, *(f"Note: {item}." for item in given_up))


def model_called(text: str, source: LikeSource, added: tuple[str, ...]) -> Model:
    """A build, with further GPUs. Arguments and errors as for `likeness_for`."""
    return model_of(likeness_for(text, source), added)


def model_of(likeness: Likeness, added: tuple[str, ...]) -> Model:
    """What was read of a build, with further GPUs."""
    return Model(like_wish(likeness, added), recipe_like(likeness, added), not likeness.is_cpu)


def solved_like(wish: Wish, like: Mapping[str, Any]) -> tuple[Advice, tuple[str, ...]]:
    """The advice for a wheel like another one, and a sentence for each thing of it that could not be kept.

    Upstream's wheels hold code for chips that their own libraries hold none for. The GPUs count: a library
    that does not serve all of them gives way to one that does, and a list of architectures that nothing of
    runs on one of them to a list of theirs; what an option asked for to nothing.

    Args:
        wish: the wheel's fields and the options.
        like: the wheel's fields alone.
    """
    advice = solve(wish)
    if advice.is_possible:
        return advice, ()
    why = "; ".join(item.what for item in advice.conflicts)
    if "archs" in _kept(wish, like) and any(item.reference == _MISSED for item in advice.conflicts):
        other, told = solved_like(_without(wish, ("archs",)), like)
        return other, (f"its architectures {', '.join(wish.archs)} are not taken: {why}", *told)
    kept = _kept(wish, like)
    for names in _YIELDING:
        if kept.issuperset(names):
            other = solve(_without(wish, names))
            if other.is_possible:
                return other, tuple(f"its {name} {like[name]} is not taken: {why}" for name in names)
    free = tuple(name for name in _YIELDING[-1] if name in kept)
    return (solve(_without(wish, free)) if free else advice), ()


def _kept(wish: Wish, like: Mapping[str, Any]) -> frozenset[str]:
    """Fields of a wish that the wheel alone asks for."""
    return frozenset(name for name, value in like.items() if value and getattr(wish, name) == value)


def _without(wish: Wish, names: tuple[str, ...]) -> Wish:
    return wish.model_copy(update={name: type(getattr(wish, name))() for name in names})
