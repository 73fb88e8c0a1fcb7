"""The builder image, by the packages that it is made of."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from torchbuild.model.artifact import Artifact
from torchbuild.model.frozen import Frozen

__all__ = ["LockedImage"]

Word = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=100)]
_FILE = re.compile(r"[a-z0-9][a-z0-9+.-]*_[A-Za-z0-9.+~-]+_[a-z0-9-]+\.deb")


def _packages(packages: tuple[Artifact, ...]) -> tuple[Artifact, ...]:
    names = [item.name for item in packages]
    wrong = next((item for item in packages if not _FILE.fullmatch(item.name)), None)
    if wrong is not None:
        raise ValueError(f"{wrong.locator}: wanted a file called NAME_VERSION_ARCHITECTURE.deb")
    if len(set(names)) != len(names):
        raise ValueError("two packages of one name")
    return packages


Packages = Annotated[tuple[Artifact, ...], Field(min_length=1), AfterValidator(_packages)]


class LockedImage(Frozen):
    """All that a builder image comes from. The same value gives the same image, without a network."""

    suite: Word
    """Suite of the distribution, such as ``trixie``."""
    architecture: Word
    """The distribution's name of the processor family, such as ``amd64``."""
    packages: Packages
    """Every package, those that others need included, sorted by file name."""
    epoch: int = Field(ge=0, le=2**40)
    """Time of what the installation makes, seconds since 1970; no file of the image is newer."""
    revision: int = Field(ge=1, le=2**31 - 1)
    """Which way of making a root out of packages; another one makes other bytes."""
