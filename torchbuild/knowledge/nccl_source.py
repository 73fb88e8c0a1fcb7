"""What NCCL's makefile compiles besides the list of architectures that it is handed."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from packaging.specifiers import SpecifierSet

from torchbuild.knowledge.tables import Fact
from torchbuild.model.frozen import frozen_value

__all__ = ["OwnList", "own_lists"]


class OwnList(Fact):
    """A list of its own."""

    cuda: str
    """Releases of the toolkit with which it has it, a range."""
    variable: str
    """Its name in the makefile."""
    sass: tuple[str, ...]
    """Machine code that it adds; empty where the list is empty, and then another one may be handed over."""


@cache
def _rows() -> tuple[OwnList, ...]:
    text = (files("torchbuild.knowledge") / "data" / "nccl_source.toml").read_text(encoding="utf-8")
    return tuple(OwnList.model_validate(frozen_value(row)) for row in tomllib.loads(text)["own"])


def own_lists(cuda: str) -> tuple[OwnList, ...]:
    """Those with a release of the toolkit."""
    return tuple(row for row in _rows() if SpecifierSet(row.cuda).contains(cuda, prereleases=True))
