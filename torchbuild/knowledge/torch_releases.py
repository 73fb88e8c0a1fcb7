"""What is known of torch releases: those there are, upstream's own builds, what a tree takes."""

from __future__ import annotations

from typing import Literal

from packaging.version import Version

from torchbuild.knowledge.fact import Fact, facts, in_range, table_cache

__all__ = [
    "OfficialBuild",
    "TorchArchs",
    "TorchCMake",
    "TorchLine",
    "official_builds",
    "torch_archs",
    "torch_cmake",
    "torch_line",
    "torch_lines",
]


class TorchLine(Fact):
    """A minor release with its patches."""

    torch: str
    """Releases that belong to it, a range."""
    minor: str
    """Such as ``2.6``."""
    releases: tuple[str, ...]
    """Those that were published, oldest first."""
    cuda: str
    """Toolkits that its tree accepts, a range without an upper bound; empty where nobody read it."""
    exercised: str
    """The newest toolkit that upstream's own scripts build it with, such as ``12.6``."""
    era: Literal["setup-py", "scikit-build-core"]
    """How its front end is driven: a table of ``eras.toml``."""


class OfficialBuild(Fact):
    """A wheel that upstream publishes. What it holds is information; it binds nobody."""

    torch: str
    """Minor release, such as ``2.6``."""
    machine: Literal["x86_64", "aarch64"]
    """Processor family."""
    cuda: str
    """Minor release of the toolkit, such as ``12.4``; empty for the CPU's."""
    is_stable: bool
    """Whether upstream calls it stable; else it is experimental."""
    archs: tuple[str, ...]
    """Architectures, such as ``12.0+PTX``; empty where nobody knows."""
    cudnn: str
    """Release of cuDNN; empty for none, or where nobody knows. So with the others."""
    nccl: str
    """Release of NCCL."""
    cusparselt: str
    """Release of cuSPARSELt."""
    nvshmem: str
    """Release of NVSHMEM."""
    glibc: str
    """The C library of its platform, such as ``2.28``; empty where nobody knows."""


class TorchArchs(Fact):
    """Architectures that ``TORCH_CUDA_ARCH_LIST`` of some releases can say."""

    torch: str
    """Releases, a range."""
    archs: tuple[str, ...]
    """Of all that some toolkit compiles for, those that its grammar takes, such as ``9.0a``, oldest first."""
    suffixes: tuple[str, ...]
    """Letters that its grammar takes after a number."""
    named: tuple[str, ...]
    """In its own table for extensions, oldest first; not all of them in its grammar."""


class TorchCMake(Fact):
    """The CMake that a tree needs."""

    torch: str
    """Releases, a range."""
    cmake: str
    """Releases of CMake, a range."""


@table_cache
def torch_lines() -> tuple[TorchLine, ...]:
    """Every minor release that is known, oldest first."""
    return facts(TorchLine, "torch_lines", "line")


def torch_line(version: str) -> TorchLine | None:
    """The line of ``2.6`` or of ``2.6.0``; None where nobody knows it."""
    wanted = _minor(version)
    return next((row for row in torch_lines() if row.minor == wanted), None)


@table_cache
def _builds() -> tuple[OfficialBuild, ...]:
    return facts(OfficialBuild, "official_builds", "build")


def official_builds(version: str, machine: str = "x86_64") -> tuple[OfficialBuild, ...]:
    """What upstream publishes of ``2.6`` or ``2.6.0`` for a processor family: the CPU's, then by CUDA."""
    wanted = _minor(version)
    return tuple(row for row in _builds() if row.torch == wanted and row.machine == machine)


def torch_archs(version: str) -> TorchArchs | None:
    """What the architecture list of a release can say; None where nobody read it."""
    rows = facts(TorchArchs, "torch_archs", "archs")
    return next((row for row in rows if in_range(version, row.torch)), None)


def torch_cmake(version: str) -> TorchCMake | None:
    """The CMake that a release needs; None where nobody knows."""
    rows = facts(TorchCMake, "torch_cmake", "cmake")
    return next((row for row in rows if in_range(version, row.torch)), None)


def _minor(version: str) -> str:
    """``2.6`` of ``2.6.0``; empty of what is no version."""
    try:
        release = Version(version)
    except ValueError:  # InvalidVersion is one; so is a number of thousands of digits
        return ""
    return f"{release.major}.{release.minor}"
