"""A recipe weighed by the facts before it is locked: what they forbid is refused, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.advice.answer import Advice
from torchbuild.advice.of_recipe import has_wish, wish_of
from torchbuild.advice.said import cited_line, conflict_lines, conflicts_lines, is_proven
from torchbuild.errors import ConflictError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.default_archs import derives_archs

__all__ = ["refused", "weigh_recipe"]

_MOST_WAYS = 5


def weigh_recipe(recipe: Recipe, despite: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What a person should hear of a recipe that may be locked, a line each; nothing where the facts agree.

    Args:
        recipe: what is asked for.
        despite: conflicts, by reference, that somebody goes on in spite of.

    Raises:
        ConflictError: ``recipe-impossible``: confirmed facts forbid it, or the facts are asked for
            architectures and allow none. What hangs on a fact that nobody confirmed is only told.
    """
    if not has_wish(recipe):
        return ()
    from torchbuild.advice.solve import solve  # noqa: PLC0415  recipes of other packages do without the facts

    advice = solve(wish_of(recipe))
    kept = [item for item in advice.conflicts if item.reference not in despite]
    if derives_archs(recipe) or any(is_proven(item) for item in kept):
        raise refused(advice, recipe.name)
    return tuple(_doubts(advice))


def _doubts(advice: Advice) -> Iterator[str]:
    for conflict in advice.conflicts:
        first, *facts = conflict_lines(conflict)
        yield f"not proven: {first}"
        yield from facts
    if advice.is_possible:
        yield from (f"unconfirmed: {cited_line(fact)}" for fact in advice.unconfirmed)


def refused(advice: Advice, name: str) -> ConflictError:
    """That nothing can be built as a recipe wants it: every conflict with its facts, and the ways out."""
    lines = tuple(conflicts_lines(advice.conflicts))
    ways = [f"  {way.what}" for way in advice.ways[:_MOST_WAYS]]
    first = advice.conflicts[0].fix if advice.conflicts else "Name cuda.archs in the recipe."
    return ConflictError(
        "recipe-impossible",
        f"{name} cannot work for its target",
        why=lines or "the facts tell no architectures for target.gpus",
        fix="\n".join((first, "Change one of these, and it can:", *ways)) if ways else first,
    )
