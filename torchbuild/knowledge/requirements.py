"""What a release of torch is built with: bounds of its front end, and the NumPy that it is made against."""

from __future__ import annotations

from packaging.version import Version

from torchbuild.knowledge.fact import Fact, facts, in_range
from torchbuild.knowledge.torch_releases import torch_cmake

__all__ = ["BoundFact", "NumpyFact", "bounds", "numpy_fact", "numpy_requirement"]


class BoundFact(Fact):
    """What the front end of some releases works with."""

    torch: str
    """Releases that this is for, a range."""
    requires: tuple[str, ...]
    """Requirements."""
    why: str
    """What happens without."""


class NumpyFact(Fact):
    """The NumPy that upstream's wheels of some releases are made against."""

    torch: str
    """Releases that this is for, a range."""
    abi: int
    """Newest ABI of NumPy that the tree can be made against."""
    pins: dict[str, str]
    """Version by wheel tag of the interpreter."""


def numpy_fact(release: str) -> NumpyFact | None:
    """What is known for a release of torch; None before the first that somebody looked at."""
    rows = facts(NumpyFact, "numpy", "made_against")
    return next((row for row in rows if in_range(release, row.torch)), None)


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
    rows = [row for row in facts(BoundFact, "build_bounds", "bound") if in_range(release, row.torch)]
    oldest = torch_cmake(release)
    cmake = {f"cmake{oldest.cmake}"} if oldest else set()
    return tuple(sorted(cmake | {requirement for row in rows for requirement in row.requires}))
