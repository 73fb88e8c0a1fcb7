"""What every table of facts has: a row's source and date, the file it stands in, and ranges of releases."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from torchbuild.model.frozen import Frozen, frozen_value

__all__ = ["Fact", "facts", "facts_file", "in_range"]


class Fact(Frozen):
    """A row."""

    source: str
    """What was read."""
    checked: str
    """When, as a date; or ``unconfirmed``."""


_Row = TypeVar("_Row", bound=Fact)


@cache
def facts_file(name: str) -> dict[str, Any]:
    """The tables of one file, such as ``cuda`` for ``data/cuda.toml``. Nobody may change what is returned."""
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def facts(kind: type[_Row], name: str, table: str) -> tuple[_Row, ...]:
    """The rows of one table of a file, in its order."""
    return tuple(kind.model_validate(frozen_value(row)) for row in facts_file(name)[table])


def in_range(version: str, wanted: str) -> bool:
    """Whether a version lies in a range such as ``>=12,<14``; an empty range is any.

    What is to become a release counts as that one: ``2.13.0a0+git`` is no older than 2.13. A version that
    cannot be read lies in no range.
    """
    if not wanted:
        return True
    try:
        return SpecifierSet(wanted).contains(Version(version).base_version)
    except InvalidVersion:
        return False
