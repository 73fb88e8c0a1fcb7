"""Facts about CUDA toolkits: the wheels of each release, and pairs that were reported not to go together."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from torchbuild.model.frozen import Frozen, frozen_value

__all__ = ["CudaPair", "CudaWheels", "LacksNvcc", "cuda_pairs", "cuda_wheels", "newest_of", "without_nvcc"]


class CudaWheels(Frozen):
    """The wheels of one release of the toolkit."""

    version: str
    """The release, with three numbers."""
    folder: str
    """Directory inside each wheel whose contents are the toolkit's."""
    machines: tuple[str, ...]
    """Processor families that all of them exist for."""
    wheels: dict[str, str]
    """Distribution and its exact version."""
    source: str
    """What was read."""
    checked: str
    """When, as a date."""


class LacksNvcc(Frozen):
    """Releases whose wheels are no toolkit."""

    cuda: str
    """Releases, a range."""
    has: tuple[str, ...]
    """What is in the wheel that is named like the compiler."""
    source: str
    """What was read."""
    checked: str
    """When, as a date."""


class CudaPair(Frozen):
    """One suspicion."""

    name: str
    """What it is about."""
    torch: str = ""
    """Releases of torch, a range; empty for any."""
    cuda: str = ""
    """Releases of the toolkit, a range."""
    glibc: str = ""
    """Releases of the C library, a range."""
    lacks: str = ""
    """What would have to be missing."""
    said: str = ""
    """What the compiler would say."""
    what: str
    """What happens then."""
    fix: str
    """What helps; begins with a verb."""
    source: str
    """What was read."""
    checked: str
    """When, as a date."""

    def raises(self, *, torch: str, cuda: str, glibc: str) -> bool:
        """Whether these releases are such a pair. One that is not known raises nothing."""
        return _within(self.torch, torch) and _within(self.cuda, cuda) and _within(self.glibc, glibc)


@cache
def _table(name: str) -> dict[str, Any]:
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def cuda_wheels() -> tuple[CudaWheels, ...]:
    """Every release whose wheels are a whole toolkit, oldest first."""
    return tuple(CudaWheels.model_validate(frozen_value(row)) for row in _table("cuda_wheels")["release"])


def newest_of(release: str) -> CudaWheels | None:
    """The wheels of a release; of the newest of its line where the release names a line, such as ``13.0``."""
    wanted = release.split(".")
    rows = [row for row in cuda_wheels() if row.version.split(".")[: len(wanted)] == wanted]
    return rows[-1] if rows else None


def without_nvcc(release: str) -> LacksNvcc | None:
    """Why the wheels of a release cannot be used, where that is known."""
    rows = (LacksNvcc.model_validate(frozen_value(row)) for row in _table("cuda_wheels")["lacks"])
    return next((row for row in rows if _within(row.cuda, release)), None)


@cache
def cuda_pairs() -> tuple[CudaPair, ...]:
    """Every suspicion."""
    return tuple(CudaPair.model_validate(frozen_value(row)) for row in _table("cuda_pairs")["pair"])


def _within(specifier: str, release: str) -> bool:
    if not specifier:
        return True
    try:
        return SpecifierSet(specifier).contains(Version(release), prereleases=True)
    except InvalidVersion:
        return False
