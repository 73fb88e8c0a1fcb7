"""What is said of one value by several places: taken where they agree, and told where they do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchbuild.inspection.text import shown
from torchbuild.model.likeness import Read, Unread

__all__ = ["Notes"]


class Notes:
    """What could not be read, so far.

    Attributes:
        unread: in the order in which it was noticed.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self.unread: list[Unread] = []

    def miss(self, what: str, why: str) -> None:
        """Say that a value could not be read."""
        self.unread.append(Unread(what=what, why=shown(why)))

    def agreed(self, what: str, *reads: Read) -> Read:
        """The one value of all that have one; none, and told, where they differ."""
        return self._merged(what, reads, lambda one, other: one == other)

    def finest(self, what: str, *reads: Read) -> Read:
        """The longest release of all that have one; none, and told, where one is no part of the other."""
        ordered = sorted(reads, key=lambda item: -len(item.value))
        return self._merged(what, ordered, lambda one, other: f"{one}.".startswith(f"{other}."))

    def _merged(self, what: str, reads: Sequence[Read], fits: Callable[[str, str], bool]) -> Read:
        told = [item for item in reads if item]
        if not told:
            return Read()
        if not all(fits(told[0].value, item.value) for item in told):
            says = ", ".join(f"{item.where} says {item.value}" for item in told)
            self.miss(what, f"places disagree: {says}")
            return Read()
        return Read(value=told[0].value, where=", ".join(dict.fromkeys(item.where for item in told)))
