"""CUDA releases: runfiles, drivers and architectures, as typed rows read from TOML."""

from __future__ import annotations

from packaging.version import Version

from torchbuild.knowledge.fact import Fact, facts, facts_file, in_range, table_cache
from torchbuild.model.frozen import Frozen, frozen_value

__all__ = [
    "ArchWindow",
    "CudaRelease",
    "DriverFloor",
    "InstallerFact",
    "InstallerOption",
    "Runfile",
    "SpaceRatios",
    "arch_window",
    "compat_floor",
    "cuda_release",
    "cuda_releases",
    "installer_fact",
    "installer_options",
    "nearest_releases",
    "space_ratios",
]

_NEAREST = 4


class Runfile(Frozen):
    """An installer's file."""

    name: str
    """As its publisher calls it; the driver inside is a part of the name."""
    size: int | None = None
    """Bytes, where they are known."""


class CudaRelease(Fact):
    """One release, patch and all."""

    version: str
    """Such as ``12.4.1``."""
    driver: str
    """The driver inside the runfile; empty where it holds none."""
    native: str
    """The oldest driver on which nothing is limited; empty where it was not read."""
    x86_64: Runfile | None = None
    """For x86_64."""
    aarch64: Runfile | None = None
    """For servers with aarch64."""
    lacks: str = ""
    """Why there is no runfile."""

    @property
    def minor(self) -> str:
        """Such as ``12.4``."""
        return self.version.rpartition(".")[0]

    def runfile(self, machine: str) -> Runfile | None:
        """The installer for a processor family; None where there is none."""
        return {"x86_64": self.x86_64, "aarch64": self.aarch64}.get(machine)


class ArchWindow(Fact):
    """Releases whose compilers know an architecture."""

    sm: str
    """Such as ``90a``, without ``sm_``."""
    cuda: str
    """Releases, a range."""


class DriverFloor(Fact):
    """The oldest driver on which a major's programs start."""

    cuda: str
    """Releases that this is for, a range."""
    driver: str
    """Such as ``525.60.13``."""


class InstallerOption(Fact):
    """One option of the installer."""

    name: str
    """With its dashes."""
    cuda: str
    """Releases that know it, a range."""


class InstallerFact(Fact):
    """What holds for the installer of every release; ``{minor}`` stands for ``12.4``."""

    default_path: str
    """Where it installs when it is not told."""
    programs: tuple[str, ...]
    """What a whole toolkit has, relative to it, sorted."""
    logs: tuple[str, ...]
    """Where it logs: root's place, and everybody else's."""
    driver_log: str
    """Where the driver's part logs."""
    outside: tuple[str, ...]
    """What it may change beyond the toolkit."""


class SpaceRatios(Fact):
    """Space that an installation needs, in sizes of the runfile."""

    temp: float
    """In the temporary directory."""
    prefix: float
    """Where the toolkit lies."""


@table_cache
def cuda_releases() -> tuple[CudaRelease, ...]:
    """Every release that is known, oldest first."""
    return facts(CudaRelease, "cuda", "release")


def cuda_release(version: str) -> CudaRelease | None:
    """The release of that name; of ``12.4`` the newest patch that is known. None where nobody knows it."""
    exact = next((row for row in cuda_releases() if row.version == version), None)
    return exact or next((row for row in reversed(cuda_releases()) if row.minor == version), None)


def nearest_releases(version: str) -> tuple[str, ...]:
    """A few known releases that stand nearest to one that is not, oldest first."""
    wanted = _release(version)
    if wanted is None:
        return tuple(row.version for row in cuda_releases()[-_NEAREST:])
    known = [row.version for row in cuda_releases()]
    line = wanted.release[:2]
    same = [item for item in known if Version(item).release[: len(line)] == line]
    if same:
        return tuple(same[-_NEAREST:])
    place = sum(Version(item) < wanted for item in known)
    return tuple(known[max(0, place - _NEAREST // 2) : place + _NEAREST // 2])


def compat_floor(version: str) -> DriverFloor | None:
    """The oldest driver on which programs of a release start; None where nobody knows it."""
    rows = facts(DriverFloor, "cuda", "floor")
    return next((row for row in rows if _holds(row.cuda, version)), None)


@table_cache
def _windows() -> tuple[ArchWindow, ...]:
    return facts(ArchWindow, "cuda", "arch")


def arch_window(sm: str) -> ArchWindow | None:
    """Releases that know an architecture such as ``90a``; None where nobody knows it."""
    return next((row for row in _windows() if row.sm == sm), None)


def installer_options(version: str) -> frozenset[str]:
    """Options that a release's installer knows."""
    rows = facts(InstallerOption, "cuda", "option")
    return frozenset(row.name for row in rows if _holds(row.cuda, version))


@table_cache
def installer_fact() -> InstallerFact:
    """What holds for every installer."""
    return InstallerFact.model_validate(frozen_value(facts_file("cuda")["installer"]))


@table_cache
def space_ratios() -> SpaceRatios:
    """What an installation needs."""
    return SpaceRatios.model_validate(frozen_value(facts_file("cuda")["ratios"]))


def _release(version: str) -> Version | None:
    try:
        return Version(version)
    except ValueError:  # InvalidVersion is one; so is a number of thousands of digits
        return None


def _holds(releases: str, version: str) -> bool:
    """Whether a range holds a release; one such as ``12.4`` stands for its newest patch."""
    row = cuda_release(version)
    return in_range(row.version if row else version, releases)
