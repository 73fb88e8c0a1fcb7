"""What is chosen, or why nothing can be: every choice and every conflict names the facts that decide it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from torchbuild.advice.wish import Wish
from torchbuild.model.frozen import Frozen

__all__ = ["Advice", "Choice", "Cited", "Conflict", "Way"]


class Cited(Frozen):
    """A fact, as it is said."""

    table: str
    """``FILE.TABLE`` of the facts, such as ``cuda.arch``; ``wish`` for what was asked for."""
    row: str
    """The row's own key, such as ``37``; of a wish, its field."""
    says: str
    """The fact in a sentence without a full stop, such as ``CUDA >=6.5,<12 compiles for sm_37``."""
    source: str = ""
    """What was read; empty for a wish."""
    checked: str = ""
    """When, as a date, or ``unconfirmed``; empty for a wish."""

    @property
    def is_confirmed(self) -> bool:
        """Whether somebody read it, or asked for it."""
        return self.checked != "unconfirmed"


class Choice(Frozen):
    """One line of a recipe."""

    key: str
    """Dotted key, such as ``cuda.version``."""
    value: str
    """As it is written, lists with commas: ``8.6, 9.0+PTX``."""
    why: str
    """One sentence."""
    facts: tuple[Cited, ...]
    """What decided it."""


class Conflict(Frozen):
    """Two facts that cannot both be kept."""

    reference: str
    """kebab-case, as ``torchbuild explain`` knows it."""
    what: str
    """One line."""
    facts: Annotated[tuple[Cited, ...], Field(min_length=2)]
    """At least the two that collide; a wish is one too."""
    fix: str
    """One imperative action."""


class Way(Frozen):
    """A change of the wish with which it can work."""

    what: str
    """Such as ``torch 2.8 instead of 2.9``."""
    wish: Wish
    """The wish with it."""
    choices: tuple[Choice, ...]
    """What is then chosen."""


class Advice(Frozen):
    """The answer to a wish: choices without a conflict, or conflicts and what would work instead."""

    wish: Wish
    """What was asked."""
    choices: tuple[Choice, ...]
    """By recipe key, in the order of a recipe; empty where there is a conflict."""
    notes: tuple[str, ...]
    """What a person should hear: what the official binaries ship, what is not known, what is lost."""
    unconfirmed: tuple[Cited, ...]
    """Facts that nobody confirmed and that a choice or a conflict hangs on."""
    conflicts: tuple[Conflict, ...]
    """Why nothing can be; empty where something can."""
    ways: tuple[Way, ...]
    """What would work instead, nearest first."""

    @property
    def is_possible(self) -> bool:
        """Whether there is something to build."""
        return not self.conflicts

    def value(self, key: str) -> str:
        """The value chosen for a recipe key; empty where none is."""
        return next((item.value for item in self.choices if item.key == key), "")
