"""Facts, as typed rows read from TOML. Every row says where it is from and when it was read."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from torchbuild.model.frozen import Frozen

__all__ = ["BlasFact", "EraFact", "Preset", "blas_fact", "era_fact", "era_of_backend", "preset"]


class Fact(Frozen):
    """A row."""

    source: str
    """What was read."""
    checked: str
    """When, as a date; or ``unconfirmed``."""


class EraFact(Fact):
    """How a tree's front end takes what it is told."""

    backends: tuple[str, ...]
    """``build-backend`` values of this era."""
    requires: tuple[str, ...]
    """Build requirements beyond those that the tree declares."""
    prefixes: tuple[str, ...]
    """Prefixes of environment variables that reach CMake."""
    names: tuple[str, ...]
    """Further variables that do."""
    defines: Literal["none", "config-setting"]
    """How any other definition reaches CMake."""

    def reaches(self, variable: str) -> bool:
        """Whether an environment variable arrives in CMake."""
        return variable.startswith(self.prefixes) or variable in self.names


class BlasFact(Fact):
    """What a BLAS is called."""

    blas: str
    """Value of the ``BLAS`` variable."""
    within: dict[str, str]
    """Cache entries and what they must hold."""
    settings: dict[str, str]
    """Build settings that ``config.show()`` prints."""


class Preset(Fact):
    """Flags to begin with."""

    off: tuple[str, ...]
    """Switched off."""
    on: tuple[str, ...]
    """Switched on."""


@cache
def _table(name: str) -> dict[str, Any]:
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def era_fact(era: str) -> EraFact:
    """The row of an era."""
    return EraFact.model_validate(_tuples(_table("eras")[era]))


def era_of_backend(backend: str) -> str | None:
    """The era whose front end this ``build-backend`` is, or None."""
    return next((era for era, row in _table("eras").items() if backend in row["backends"]), None)


def blas_fact(provider: str) -> BlasFact:
    """The row of a BLAS provider."""
    return BlasFact.model_validate(_tuples(_table("blas")[provider]))


def preset(name: str) -> Preset:
    """A preset's flags."""
    return Preset.model_validate(_tuples(_table("presets")[name]))
