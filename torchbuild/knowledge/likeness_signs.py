"""What the files of a built torch say about how it was built."""

from __future__ import annotations

from typing import Literal

from torchbuild.knowledge.fact import Fact, facts, table_cache

__all__ = [
    "DefineSign",
    "LibrarySign",
    "RequirementSign",
    "WordSign",
    "define_signs",
    "library_signs",
    "required_names",
    "word_signs",
]


class DefineSign(Fact):
    """A macro of a header that is a switch."""

    file: str
    """The header, below the package."""
    macro: str
    """Its name; it has the value 1 or 0."""
    switch: str
    """The switch that it is."""


class WordSign(Fact):
    """A definition that goes with the libraries where a switch is on; that it is missing proves nothing."""

    word: str
    """The definition."""
    switch: str
    """The switch that is on then."""


class LibrarySign(Fact):
    """What shows a library beside torch."""

    name: str
    """As the recipe's table is called."""
    switch: str
    """The switch with which it is used."""
    setting: str
    """The build setting that is its release; empty for none."""
    soname: str
    """The beginning of what a library asks the loader for."""
    distribution: str
    """The beginning of its distribution's name; empty where there is none."""
    symbol: str
    """A function that tells its release; empty for none."""
    tells: Literal["", "fields", "pointers"]
    """How: in fields of 32, 16 and 16 bits of what it returns, or into three numbers that it is given."""


@table_cache
def define_signs() -> tuple[DefineSign, ...]:
    """Every such macro."""
    return facts(DefineSign, "likeness", "define")


@table_cache
def word_signs() -> tuple[WordSign, ...]:
    """Every such definition."""
    return facts(WordSign, "likeness", "definition")


@table_cache
def library_signs() -> tuple[LibrarySign, ...]:
    """Every such library."""
    return facts(LibrarySign, "likeness", "library")


class RequirementSign(Fact):
    """Distributions that a wheel requires for one purpose."""

    role: Literal["toolkit", "triton"]
    """Which."""
    distributions: tuple[str, ...]
    """Their names."""


@table_cache
def required_names(role: str) -> tuple[str, ...]:
    """Names of the distributions of a role."""
    rows = facts(RequirementSign, "likeness", "requirement")
    return next((row.distributions for row in rows if row.role == role), ())
