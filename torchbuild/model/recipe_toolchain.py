"""The recipe's tables of what a build is made with: interpreter, compilers, toolkit, libraries."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from torchbuild.model.artifact import Sha256
from torchbuild.model.frozen import Documented
from torchbuild.model.recipe_words import BuilderPath, CudaVersion, GpuArch, Program, Release

__all__ = ["Blas", "Cuda", "Library", "Openmp", "Python", "Toolchain"]


class Python(Documented):
    """The interpreter that the wheel is for, which is the one that builds it."""

    version: Release | None = None
    """Such as ``3.13``, or ``3.13t`` without the global lock. Default: the one that runs torchbuild, for
    builds on this machine."""
    source: Literal["uv", "system", "path"] = Field(default="system", alias="from")
    """Who provides it."""
    path: str | None = None
    """The interpreter, absolute, with ``from = "path"``."""


class Toolchain(Documented):
    """Compilers and build programs."""

    cc: Program = "gcc"
    """Host C compiler: a name found in /usr/bin, or an absolute path. Options go to ``build.env``."""
    cxx: Program = "g++"
    """Host C++ compiler, likewise."""
    linker: Literal["default", "mold", "lld", "gold"] = "default"
    """Linker the host compiler is told to use."""
    cmake: str = ">=3.18,<4"
    """Bounds for the CMake of the build environment."""
    ninja: str = ">=1.13"
    """Bounds for its ninja."""
    compiler_cache: Literal["none", "auto", "ccache", "sccache"] = "none"
    """A compiler cache in front of the compilers; ``auto``: ccache or else sccache, where the builder has it.
    Its directory, and a backend that several machines share, are the machine's."""


class Cuda(Documented):
    """The CUDA toolkit. Absent table: a CPU build."""

    version: CudaVersion
    """Release, such as ``12.4.1``."""
    source: Literal["runfile", "redist", "wheels", "apt", "system"] = Field(default="redist", alias="from")
    """Who provides it: NVIDIA's installer, NVIDIA's archives, wheels of the Python index, the builder image's
    own distribution, or a directory of the builder that is only looked at."""
    archs: tuple[GpuArch, ...] = ()
    """Architectures, such as ``9.0`` or ``8.6+PTX``. Default: from ``target.gpus``."""
    path: BuilderPath | None = None
    """Where it is, absolute inside the builder, with ``from = "system"``; with ``from = "apt"`` by default
    ``/usr``."""
    archive: str | None = None
    """Locator of the installer, with ``from = "runfile"``; ``file:NAME.run`` is a file beside the recipe.
    Default: the one that is known for the release."""
    sha256: Sha256 | None = None
    """Digest of the installer, whether `archive` names it or the release does. Default: computed from the
    bytes when they are first seen, and said to be."""


class Library(Documented):
    """A library beside the toolkit: cuDNN, NCCL, cuSPARSELt, NVSHMEM, MAGMA."""

    version: Release | None = None
    """Release. Not with ``from = "bundled"``, where the tree's own pin counts."""
    source: Literal["tarball", "wheels", "source", "system", "bundled"] = Field(
        default="wheels", alias="from"
    )
    """Who provides it: the publisher's archive, a wheel of the Python index, its source, built here; a
    directory of the builder; or the tree itself."""
    path: BuilderPath | None = None
    """Its prefix, absolute inside the builder, with ``from = "system"``. Default: ``/usr``."""
    archive: str | None = None
    """Locator of the archive, with ``from = "tarball"`` or ``"source"``. Default: the one that is known."""
    sha256: Sha256 | None = None
    """Digest of the archive, whether `archive` names it or the release does. Default: the publisher's, else
    computed when the bytes are first seen."""


class Blas(Documented):
    """Dense linear algebra."""

    provider: Literal["mkl", "openblas", "blis", "generic"] = "openblas"
    """Which one. ``generic`` is slow and only taken when asked for."""
    source: Literal["wheels", "system", "path"] = Field(default="system", alias="from")
    """Who provides it."""
    version: Release | None = None
    """Release, with ``from = "wheels"``. Default: the newest."""
    path: BuilderPath | None = None
    """Its prefix, with ``from = "path"``."""


class Openmp(Documented):
    """The OpenMP runtime."""

    provider: Literal["gomp", "iomp", "none"] = "gomp"
    """Which one."""
    source: Literal["wheels", "system", "path"] = Field(default="system", alias="from")
    """Who provides it."""
    version: Release | None = None
    """Release, with ``from = "wheels"``. Default: the newest."""
    path: BuilderPath | None = None
    """Its prefix, with ``from = "path"``."""
