"""Drivers: their branches, what runs on them unlimited, and who may run newer CUDA on an older one."""

from __future__ import annotations

import re

from packaging.version import Version

from torchbuild.knowledge.cuda import cuda_releases
from torchbuild.knowledge.fact import Fact, facts
from torchbuild.knowledge.gpus import Line

__all__ = [
    "EligibleLine",
    "ForwardCompat",
    "JetPack",
    "driver_branch",
    "forward_compat",
    "is_eligible",
    "jetpacks",
    "newest_native",
]

_DRIVER = re.compile(r"(?P<branch>[0-9]+)(?P<rest>(\.[0-9]+)*)")


class ForwardCompat(Fact):
    """NVIDIA's forward-compatibility package of one minor release."""

    cuda: str
    """Such as ``13.1``."""
    branches: tuple[int, ...]
    """Branches of the driver below it, lowest first."""


class EligibleLine(Fact):
    """Whether such packages work for a line of products."""

    line: Line
    """Which."""
    is_eligible: bool
    """Whether its GPUs take them."""


class JetPack(Fact):
    """A board's system."""

    jetpack: str
    """Its release, such as ``6.2``; ``5`` for all of 5.x."""
    sms: tuple[int, ...]
    """Ten times the compute capabilities of the boards that it is for."""
    cuda: str
    """The CUDA that it brings, a minor release."""
    upgrades: tuple[str, ...]
    """Further minor releases that run on it."""


def forward_compat(cuda: str) -> ForwardCompat | None:
    """The package of a release such as ``12.4`` or ``12.4.1``; None where no branch is known to take it."""
    minor = ".".join(cuda.split(".")[:2])
    return next((row for row in facts(ForwardCompat, "forward_compat", "package") if row.cuda == minor), None)


def is_eligible(line: str) -> EligibleLine | None:
    """Whether a line of products takes such packages; None where nobody knows it."""
    return next((row for row in facts(EligibleLine, "forward_compat", "line") if row.line == line), None)


def jetpacks(sm: int) -> tuple[JetPack, ...]:
    """Systems for boards of ten times a compute capability, oldest first; empty where it is no board's."""
    return tuple(row for row in facts(JetPack, "jetpacks", "jetpack") if sm in row.sms)


def newest_native(driver: str) -> str:
    """The newest minor release of CUDA that a driver runs without limits; empty where none is known.

    A branch such as ``535`` stands for all its releases.
    """
    native = (row.minor for row in reversed(cuda_releases()) if row.native and _reaches(driver, row.native))
    return next(native, "")


def driver_branch(driver: str) -> int:
    """The branch of a release: 535 of ``535.129.03``; 0 of what is no release."""
    found = _DRIVER.fullmatch(driver)
    return int(found["branch"]) if found else 0


def _reaches(driver: str, needed: str) -> bool:
    """Whether a driver is not older than another; a branch reaches every release of its own."""
    found = _DRIVER.fullmatch(driver)
    if found is None:
        return False
    if not found["rest"]:
        return driver_branch(driver) >= driver_branch(needed)
    return Version(driver) >= Version(needed)
