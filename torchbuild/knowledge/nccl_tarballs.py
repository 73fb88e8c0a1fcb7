"""Which binary archives of NCCL there are."""

from __future__ import annotations

import re
from functools import cache

from torchbuild.knowledge.fact import Fact, facts_file

__all__ = ["NcclTarball", "nccl_tarballs"]

_FILE = re.compile(
    r"nccl_(?P<version>[0-9.]+)-(?P<revision>[0-9]+)\+cuda(?P<cuda>[0-9]+\.[0-9]+)_(?P<machine>[a-z0-9_]+)\.txz"
)
_MACHINES = {"arm64": "aarch64"}
"""How a processor family was once written."""


class NcclTarball(Fact):
    """One archive."""

    path: str
    """Below the directory of all of them."""
    version: str
    """Of NCCL, such as ``2.21.5``."""
    cuda: str
    """The release of CUDA that it was built with, such as ``12.4``."""
    machine: str
    """Processor family."""


@cache
def nccl_tarballs() -> tuple[NcclTarball, ...]:
    """All that are known, in the order of the table."""
    return tuple(_tarball(row) for row in facts_file("nccl_tarballs")["tarball"])


def _tarball(row: dict[str, str]) -> NcclTarball:
    found = _FILE.fullmatch(row["path"].rpartition("/")[2])
    if found is None:
        raise ValueError(f"nccl_tarballs.toml: {row['path']} is not named like one")
    machine = _MACHINES.get(found["machine"], found["machine"])
    return NcclTarball(**row, version=found["version"], cuda=found["cuda"], machine=machine)
