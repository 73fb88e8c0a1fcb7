"""A part of a toolchain, exactly: the toolkit, a library, an interpreter."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from torchbuild.model.artifact import Artifact
from torchbuild.model.frozen import Frozen
from torchbuild.model.inner_path import InnerPath

__all__ = ["PARTS", "PART_NAMES", "LockedPart", "LockedPiece", "PartName", "prefix_of"]

PartName = Literal["cuda", "nccl", "cudnn", "cusparselt", "nvshmem", "magma", "blas", "openmp", "python"]
PART_NAMES: tuple[PartName, ...] = (
    "cuda",
    "nccl",
    "cudnn",
    "cusparselt",
    "nvshmem",
    "magma",
    "blas",
    "openmp",
    "python",
)
PARTS = "/torchbuild/parts"
"""Where parts of our own lie inside a build."""

Absolute = Annotated[str, StringConstraints(pattern=r"^/[^\x00\n]*$")]


def prefix_of(name: PartName) -> str:
    """Where a part of our own lies inside a build, absolute."""
    return f"{PARTS}/{name}"


class LockedPiece(Frozen):
    """One file that a part is made of, and how it becomes a part of it."""

    artifact: Artifact
    """The file."""
    how: Literal["unpack", "runfile", "source"] = "unpack"
    """``unpack``: an archive, a wheel too, whose files are laid as they are. ``runfile``: an installer that
    is run. ``source``: an archive that is unpacked beside the part and built."""
    strip: int = Field(default=0, ge=0, le=10)
    """Leading components removed from member names."""
    only: InnerPath | Literal[""] = ""
    """Lay the contents of this directory alone, after `strip`."""
    to: InnerPath | Literal[""] = ""
    """Where below the prefix; empty for the prefix itself."""


class LockedPart(Frozen):
    """One part: where it comes from, where it is, and what it must turn out to be."""

    name: PartName
    """Which part."""
    provider: str
    """As in the recipe's ``from``."""
    version: str
    """What it must say it is, as the recipe has it: ``12.4.1``, ``2.21.5``; empty where that names none."""
    prefix: Absolute
    """Where it is inside the build, canonical: below `PARTS`, or a directory of the builder."""
    pieces: tuple[LockedPiece, ...] = ()
    """Files that it is made of, laid in this order; none for a part of the builder."""
    says: dict[str, str] = Field(default_factory=dict)
    """What is read back besides, by name, sorted: ``nvcc`` -> ``12.4.131``."""

    @property
    def is_ours(self) -> bool:
        """Whether the build makes it, rather than finding it in the builder."""
        return bool(self.pieces) or self.prefix == prefix_of(self.name)
