"""What every table of facts has: a row's source and date, the file it stands in, and ranges of releases.

A user's own facts lie over ours, row by row: `torchbuild.knowledge.overlay` makes an `Overlay` of them, and
`using` lays it for as long as a command runs. What is computed from facts is kept by `table_cache` alone, so
that nothing outlives the facts that it was computed from.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, ParamSpec, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchbuild.model.frozen import Frozen, frozen_value

__all__ = [
    "Fact",
    "Laid",
    "Overlay",
    "facts",
    "facts_file",
    "in_range",
    "overlay",
    "own_file",
    "table_cache",
    "using",
]


class Fact(Frozen):
    """A row."""

    source: str
    """What was read."""
    checked: str
    """When, as a date; or ``unconfirmed``."""


class Laid(Frozen):
    """One file of ours with the user's rows in it."""

    file: str
    """Such as ``gpus``, for ``gpus.toml``."""
    tables: dict[str, Any]
    """All its tables, as `facts_file` gives them."""
    sha256: str
    """Digest of these tables: what a key takes in."""


class Overlay(Frozen):
    """The user's facts, laid over ours row by row."""

    sha256: str = ""
    """Digest of the user's files; empty where there are none."""
    files: tuple[Laid, ...] = ()
    """The files that are not ours alone."""
    changes: tuple[str, ...] = ()
    """A line a row that was changed, added or taken away: what a lock records."""

    def laid(self, file: str) -> Laid | None:
        """The file with the user's rows; None where it is ours alone."""
        return next((item for item in self.files if item.file == file), None)

    def lines(self) -> tuple[str, ...]:
        """What a person should hear; nothing where nothing was changed."""
        return self.changes


_Row = TypeVar("_Row", bound=Fact)
_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Present:
    """The overlay of now, and every result that rests on it. Of the process: threads see the same facts."""

    def __init__(self) -> None:
        self.overlay = Overlay()
        self.forget: list[Callable[[], None]] = []

    def lay(self, wanted: Overlay) -> None:
        if wanted != self.overlay:
            self.overlay = wanted
            for forget in self.forget:
                forget()


_PRESENT = _Present()


def table_cache(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """`functools.cache` for what is computed from facts: forgotten where other facts are laid."""
    kept = cache(function)
    _PRESENT.forget.append(kept.cache_clear)
    return kept  # type: ignore[return-value]  # functools types its arguments as anything that is hashable


@contextmanager
def using(wanted: Overlay) -> Iterator[None]:
    """Lay the user's facts over ours for a while. Set by who composes the program, once a command."""
    before = _PRESENT.overlay
    _PRESENT.lay(wanted)
    try:
        yield
    finally:
        _PRESENT.lay(before)


def overlay() -> Overlay:
    """The user's facts that count now; an empty overlay where there are none."""
    return _PRESENT.overlay


@cache
def own_file(name: str) -> dict[str, Any]:
    """The tables of one file of ours, without the user's rows. Nobody may change what is returned."""
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def facts_file(name: str) -> dict[str, Any]:
    """The tables of one file, such as ``cuda`` for ``data/cuda.toml``. Nobody may change what is returned."""
    laid = _PRESENT.overlay.laid(name)
    return own_file(name) if laid is None else laid.tables


@table_cache
def facts(kind: type[_Row], name: str, table: str) -> tuple[_Row, ...]:
    """The rows of one table of a file, in its order."""
    return tuple(kind.model_validate(frozen_value(row)) for row in facts_file(name)[table])


@lru_cache(maxsize=65536)
def in_range(version: str, wanted: str) -> bool:
    """Whether a version lies in a range such as ``>=12,<14``; an empty range is any.

    What is to become a release counts as that one: ``2.13.0a0+git`` is no older than 2.13. A version that
    cannot be read lies in no range.
    """
    if not wanted:
        return True
    try:
        return SpecifierSet(wanted).contains(Version(version).base_version)
    except ValueError:  # InvalidVersion is one; so is a number of thousands of digits
        return False
