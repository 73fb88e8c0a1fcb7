"""Facts, as typed rows read from TOML. Every row says where it is from and when it was read."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from torchbuild.model.frozen import Frozen

__all__ = [
    "BlasFact",
    "EraFact",
    "Preset",
    "SwitchFact",
    "blas_fact",
    "era_fact",
    "era_of_backend",
    "preset",
    "switch_fact",
    "switch_needs",
]


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
    suffixes: tuple[str, ...]
    """Suffixes of variables that do."""
    names: tuple[str, ...]
    """Further variables that do."""
    renames: dict[str, str]
    """Variables that arrive under another name."""
    defines: Literal["none", "config-setting"]
    """How any other definition reaches CMake."""

    def reaches(self, variable: str) -> bool:
        """Whether an environment variable arrives in CMake."""
        named = variable in self.names or variable in self.renames
        return named or variable.startswith(self.prefixes) or variable.endswith(self.suffixes)


class BlasFact(Fact):
    """What a BLAS is called."""

    blas: str
    """Value of the ``BLAS`` variable."""
    within: dict[str, str]
    """Regular expressions of cache entries, and what each that matches must hold; one must be there."""
    settings: dict[str, str]
    """Build settings that ``config.show()`` prints."""


class Preset(Fact):
    """Flags to begin with."""

    off: tuple[str, ...]
    """Switched off."""
    on: tuple[str, ...]
    """Switched on."""


class SwitchFact(Fact):
    """Switches that count only while others are on."""

    needs: dict[str, tuple[str, ...]]
    """By the switch's name, the others, nearest only."""


@cache
def _table(name: str) -> dict[str, Any]:
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {key: _frozen(value) for key, value in row.items()}


def _frozen(value: Any) -> Any:  # noqa: ANN401  any TOML value
    if isinstance(value, dict):
        return _tuples(value)
    return tuple(value) if isinstance(value, list) else value


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


@cache
def switch_fact() -> SwitchFact:
    """Which switches depend on others."""
    return SwitchFact.model_validate(_tuples(_table("switches")["dependent"]))


def switch_needs(name: str) -> tuple[str, ...]:
    """All switches that must be on for this one to count, theirs included, sorted."""
    needs = switch_fact().needs
    found: set[str] = set()
    todo = list(needs.get(name, ()))
    while todo:
        parent = todo.pop()
        if parent not in found:
            found.add(parent)
            todo += needs.get(parent, ())
    return tuple(sorted(found))
