"""Which binary archives of NCCL there are."""

from __future__ import annotations

import re

from pydantic import field_validator

from torchbuild.knowledge.fact import Fact, facts, table_cache

__all__ = ["NcclTarball", "TarballPath", "nccl_tarballs"]

_FILE = re.compile(
    r"nccl_(?P<version>[0-9.]+)-(?P<revision>[0-9]+)\+cuda(?P<cuda>[0-9]+\.[0-9]+)_(?P<machine>[a-z0-9_]+)\.txz"
)
_MACHINES = {"arm64": "aarch64"}
"""How a processor family was once written."""


class TarballPath(Fact):
    """One archive, as the table has it."""

    path: str
    """Below the directory of all of them."""

    @field_validator("path")
    @classmethod
    def _is_named_like_one(cls, path: str) -> str:
        if _FILE.fullmatch(path.rpartition("/")[2]) is None:
            raise ValueError("wanted a file such as v2.21.5/nccl_2.21.5-1+cuda12.4_x86_64.txz")
        return path


class NcclTarball(TarballPath):
    """One archive, and what its name tells."""

    version: str
    """Of NCCL, such as ``2.21.5``."""
    cuda: str
    """The release of CUDA that it was built with, such as ``12.4``."""
    machine: str
    """Processor family."""


@table_cache
def nccl_tarballs() -> tuple[NcclTarball, ...]:
    """All that are known, in the order of the table."""
    return tuple(_tarball(row) for row in facts(TarballPath, "nccl_tarballs", "tarball"))


def _tarball(row: TarballPath) -> NcclTarball:
    found = _FILE.fullmatch(row.path.rpartition("/")[2])
    assert found is not None  # noqa: S101  the row was held against it
    machine = _MACHINES.get(found["machine"], found["machine"])
    return NcclTarball(**row.model_dump(), version=found["version"], cuda=found["cuda"], machine=machine)
