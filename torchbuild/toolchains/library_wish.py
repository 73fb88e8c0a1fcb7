"""What a recipe says of one library, as all of its providers read it."""

from __future__ import annotations

from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Library

__all__ = ["cuda_major", "library_of", "numbers", "same_release", "version_wish"]


def library_of(name: str, recipe: Recipe) -> Library | None:
    """The recipe's table of a library."""
    found = getattr(recipe, name)
    return found if isinstance(found, Library) else None


def cuda_major(name: str, recipe: Recipe) -> str:
    """Major release of the toolkit that a library is for.

    Raises:
        ValueError: the recipe has none, which its rules refuse.
    """
    if recipe.cuda is None:
        raise ValueError(f"[{name}] without [cuda]: no rule refused it")
    return recipe.cuda.version.split(".")[0]


def version_wish(name: str, recipe: Recipe) -> str:
    """The release that the recipe names.

    Raises:
        ValueError: it names none, which its rules refuse.
    """
    wish = library_of(name, recipe)
    if wish is None or not wish.version:
        raise ValueError(f"[{name}] without a version: no rule refused it")
    return wish.version


def numbers(version: str) -> tuple[int, ...]:
    """The release numbers that a version begins with; empty where it begins with none."""
    found: list[int] = []
    for word in version.split("."):
        digits = word[: len(word) - len(word.lstrip("0123456789"))]
        if not digits or len(digits) > 9:  # noqa: PLR2004  no release has ten digits; int() of a thousand is slow
            break
        found.append(int(digits))
        if digits != word:
            break
    return tuple(found)


def same_release(seen: str, wanted: str) -> bool:
    """Whether two versions agree as far as both go: a header's 9.1.0 and the wheel's 9.1.0.70 do."""
    ours, theirs = numbers(seen), numbers(wanted)
    length = min(len(ours), len(theirs))
    return length > 0 and ours[:length] == theirs[:length]
