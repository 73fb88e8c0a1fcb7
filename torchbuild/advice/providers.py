"""Who provides a part that was chosen: by what the tables say exists."""

from __future__ import annotations

from typing import NamedTuple

from packaging.version import Version

from torchbuild.advice.wish import Wish
from torchbuild.knowledge.blas_facts import blas_wheels
from torchbuild.knowledge.cuda import cuda_release
from torchbuild.knowledge.cuda_facts import newest_of
from torchbuild.knowledge.libraries import library_wheels
from torchbuild.knowledge.library_releases import library_releases
from torchbuild.knowledge.nccl_tarballs import nccl_tarballs
from torchbuild.knowledge.redist import redist_product

__all__ = ["Provided", "blas_provider", "library_provider", "toolkit_provider"]


class Provided(NamedTuple):
    """A ``from`` of a recipe, and why it is that one."""

    origin: str
    """The word."""
    why: str
    """In a few words."""


def toolkit_provider(version: str, machine: str) -> Provided:
    """NVIDIA's archives where their document was seen, else its wheels, else its installer."""
    if version in redist_product("cuda").releases:
        return Provided("redist", "NVIDIA's archives, only those that are needed")
    wheels = newest_of(version)
    if wheels is not None and wheels.version == version and machine in wheels.machines:
        return Provided("wheels", "no archives of this release were seen; its wheels are a whole toolkit")
    release = cuda_release(version)
    if release is not None and release.runfile(machine) is not None:
        return Provided("runfile", "no archives of this release were seen; its installer is known")
    return Provided("redist", "nobody saw its archives yet: the publisher is asked")


def library_provider(name: str, version: str, wish: Wish, cuda: str) -> Provided:
    """The Python index's wheel where the release is there, else NVIDIA's archive."""
    major = cuda.partition(".")[0]
    if version in library_releases(name, major) or _is_laid_out(name, version, major):
        return Provided("wheels", "a wheel of the Python index, by the index's digest")
    if name == "nccl" and _has_tarball(version, wish.machine, major):
        return Provided("tarball", "NVIDIA's archive: the index has no such wheel")
    if name != "nccl" and version in redist_product(name).releases:
        return Provided("tarball", "NVIDIA's archive, by the publisher's digest: the index has no such wheel")
    return Provided("wheels", "nobody saw this release yet: the index is asked")


def _is_laid_out(name: str, version: str, major: str) -> bool:
    """Whether it lies between releases whose wheels somebody listed."""
    try:
        wanted = Version(version)
    except ValueError:
        return False
    rows = library_wheels(name, major)
    exact = version.count(".") >= (3 if name == "cudnn" else 2)
    return exact and any(Version(row.first) <= wanted <= Version(row.last) for row in rows)


def _has_tarball(version: str, machine: str, major: str) -> bool:
    return any(
        row.version == version and row.machine == machine and row.cuda.split(".")[0] == major
        for row in nccl_tarballs()
    )


def blas_provider(machine: str) -> tuple[str, Provided]:
    """MKL as upstream's own wheels have it, where it exists for the processor family; else OpenBLAS."""
    rows = blas_wheels("blas", "mkl")
    if rows and all(machine in row.machines for row in rows):
        return "mkl", Provided("wheels", "as upstream's own wheels have it; no package of the builder")
    return "openblas", Provided("system", f"there is no MKL for {machine}; the builder's package")
