"""What a release of torch is built with: bounds of its front end, and the NumPy that it is made against."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchbuild.model.frozen import Frozen, frozen_value

__all__ = ["NumpyFact", "bounds", "numpy_fact", "numpy_requirement"]


class NumpyFact(Frozen):
    """The NumPy that upstream's wheels of some releases are made against."""

    torch: str
    """Releases that this is for, a range."""
    abi: int
    """Newest ABI of NumPy that the tree can be made against."""
    pins: dict[str, str]
    """Version by wheel tag of the interpreter."""
    source: str
    """What was read."""
    checked: str
    """When, as a date; or ``unconfirmed``."""


@cache
def _table(name: str) -> dict[str, Any]:
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _is_for(releases: str, release: str) -> bool:
    """Whether a range holds a release; what leads to it, such as 2.13.0a0, counts as the release."""
    return SpecifierSet(releases).contains(Version(release).base_version)


def numpy_fact(release: str) -> NumpyFact | None:
    """What is known for a release of torch; None before the first that somebody looked at."""
    rows = (NumpyFact.model_validate(frozen_value(row)) for row in _table("numpy")["made_against"])
    return next((row for row in rows if _is_for(row.torch, release)), None)


def numpy_requirement(release: str, python_tag: str) -> str:
    """What a build should be made against, such as ``numpy>=2.0.2,<3``; empty where nothing is known.

    Upstream's pin is the floor, and the ABI the ceiling: the pinned release itself has no wheel for some
    interpreters.
    """
    fact = numpy_fact(release)
    if fact is None:
        return ""
    # a floor that is no release would let others in that are none
    pin = Version(fact.pins[python_tag]).base_version if python_tag in fact.pins else ""
    abi = Version(pin).major if pin else fact.abi
    return f"numpy>={pin},<{abi + 1}" if pin else f"numpy>={abi},<{abi + 1}"


def bounds(release: str) -> tuple[str, ...]:
    """Requirements that a release's front end needs besides those that its tree declares, sorted."""
    rows = [row for row in _table("build_bounds")["bound"] if _is_for(row["torch"], release)]
    return tuple(sorted({requirement for row in rows for requirement in row["requires"]}))
