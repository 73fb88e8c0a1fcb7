"""Facts about CUDA toolkits: the wheels of each release, and pairs that were reported not to go together."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts, in_range, table_cache
from torchbuild.knowledge.torch_releases import official_builds

__all__ = [
    "CudaPair",
    "CudaWheels",
    "LacksNvcc",
    "cuda_pairs",
    "cuda_wheels",
    "newest_of",
    "reported_pairs",
    "without_nvcc",
]


class CudaWheels(Fact):
    """The wheels of one release of the toolkit."""

    version: str
    """The release, with three numbers."""
    folder: str
    """Directory inside each wheel whose contents are the toolkit's."""
    machines: tuple[str, ...]
    """Processor families that all of them exist for."""
    wheels: dict[str, str]
    """Distribution and its exact version."""


class LacksNvcc(Fact):
    """Releases whose wheels are no toolkit."""

    cuda: str
    """Releases, a range."""
    has: tuple[str, ...]
    """What is in the wheel that is named like the compiler."""


class CudaPair(Fact):
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

    def raises(self, *, torch: str, cuda: str, glibc: str) -> bool:
        """Whether these releases are such a pair. One that is not known raises nothing."""
        return in_range(torch, self.torch) and in_range(cuda, self.cuda) and in_range(glibc, self.glibc)


@table_cache
def cuda_wheels() -> tuple[CudaWheels, ...]:
    """Every release whose wheels are a whole toolkit, oldest first."""
    return facts(CudaWheels, "cuda_wheels", "release")


def newest_of(release: str) -> CudaWheels | None:
    """The wheels of a release; of the newest of its line where the release names a line, such as ``13.0``."""
    wanted = release.split(".")
    rows = [row for row in cuda_wheels() if row.version.split(".")[: len(wanted)] == wanted]
    return rows[-1] if rows else None


def without_nvcc(release: str) -> LacksNvcc | None:
    """Why the wheels of a release cannot be used, where that is known."""
    rows = facts(LacksNvcc, "cuda_wheels", "lacks")
    return next((row for row in rows if in_range(release, row.cuda)), None)


@table_cache
def cuda_pairs() -> tuple[CudaPair, ...]:
    """Every suspicion."""
    return facts(CudaPair, "cuda_pairs", "pair")


def reported_pairs(*, torch: str, cuda: str, machine: str, glibc: str = "") -> tuple[CudaPair, ...]:
    """Suspicions that these releases raise, less those that upstream's own release of the pair refutes."""
    minor = ".".join(cuda.split(".")[:2])
    is_released = any(row.cuda == minor for row in official_builds(torch, machine))
    raised = (row for row in cuda_pairs() if row.raises(torch=torch, cuda=cuda, glibc=glibc))
    return tuple(row for row in raised if not (row.torch and is_released))
