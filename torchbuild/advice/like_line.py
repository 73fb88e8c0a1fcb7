"""Lines of a recipe, before they are text."""

from __future__ import annotations

from typing import Any

from torchbuild.model.frozen import Frozen

__all__ = ["LikeLine", "LikeParts"]


class LikeLine(Frozen):
    """One line of a recipe."""

    key: str
    """Dotted key, such as ``cuda.version`` or ``build.flags.USE_NCCL``."""
    value: Any
    """As the recipe's model takes it: a string, a number, a bool, a tuple of strings."""
    comment: str = ""
    """What stands behind it, without ``#``: where it was read; empty for nothing."""


class LikeParts(Frozen):
    """Parts of a recipe. A table that is to be there with its defaults has a line for its first key."""

    lines: tuple[LikeLine, ...]
    """In the order of the recipe's model."""
    comments: tuple[str, ...]
    """What could not be read, or cannot be done yet: sentences, without ``#``, for the top of the file."""
    archs_added: tuple[str, ...] = ()
    """What ``--add-gpu`` added to ``cuda.archs``."""

    def value(self, key: str) -> Any:  # noqa: ANN401  whatever the recipe's model takes
        """The value of a key; None where there is no line for it."""
        return next((line.value for line in self.lines if line.key == key), None)
