"""What is known of host compilers: nvcc's limits, torch's minimum, pairs that break, packages with one."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts, in_range

__all__ = [
    "ExtensionFact",
    "GlibcFact",
    "NvccFact",
    "PackagesFact",
    "PairFact",
    "TorchFact",
    "extension_fact",
    "glibc_facts",
    "nvcc_fact",
    "packages_fact",
    "pair_facts",
    "torch_fact",
]


class NvccFact(Fact):
    """What nvcc of some releases takes."""

    cuda: str
    """Releases, a range."""
    gcc: str
    """What its header takes, a range."""
    clang: str
    """The same for clang."""
    minimum: str
    """What NVIDIA asks of gcc besides, a range."""


class TorchFact(Fact):
    """What some torch releases need."""

    torch: str
    """Releases, a range."""
    gcc: str
    """A range."""
    standard: str
    """C++ standard, such as ``17``."""
    is_fatal: bool
    """Whether the tree itself stops at anything else."""


class PairFact(Fact):
    """A pair that is known to break. An empty range is any."""

    name: str
    """kebab-case, unique."""
    machine: str = ""
    """Processor family."""
    cuda: str = ""
    """Releases of CUDA."""
    torch: str = ""
    """Releases of torch."""
    gcc: str
    """Versions of gcc."""
    what: str
    """What happens."""
    signs: tuple[str, ...]
    """By which it is known in what a compiler says; empty where a probe cannot show it."""


class GlibcFact(Fact):
    """Toolkits that contradict the headers of the C library."""

    cuda: str
    """Releases, a range."""
    glibc: str
    """Releases, a range."""
    what: str
    """What happens."""
    signs: tuple[str, ...]
    """By which it is known in what a compiler says."""


class ExtensionFact(Fact):
    """torch's own table, asked when an extension is compiled for a wheel."""

    torch: str
    """Releases that carry it, a range."""
    refuses: dict[str, str]
    """By release of CUDA, the first gcc that is too new for it."""


class PackagesFact(Fact):
    """Which packages of a distribution bring a compiler."""

    ids: tuple[str, ...]
    """``ID`` of its os-release."""
    release: str
    """``VERSION_ID``, or its beginning; empty for any."""
    gcc: tuple[str, ...]
    """Major versions that it has, oldest first."""
    clang: tuple[str, ...]
    """The same for clang."""
    install: str
    """The command for gcc."""
    program: str
    """What it is then called."""
    toolkit: str
    """Package that brings a compiler for the distribution's own toolkit; empty for none."""


def nvcc_fact(cuda: str) -> NvccFact | None:
    """What nvcc of a release such as ``12.4.1`` takes; None where nobody knows."""
    return next((row for row in facts(NvccFact, "host_compilers", "nvcc") if in_range(cuda, row.cuda)), None)


def torch_fact(torch: str) -> TorchFact | None:
    """What a release needs; None where nobody knows."""
    return next(
        (row for row in facts(TorchFact, "host_compilers", "torch") if in_range(torch, row.torch)), None
    )


def pair_facts(gcc: str, *, cuda: str, torch: str, machine: str) -> tuple[PairFact, ...]:
    """The known ways in which this very combination breaks."""
    return tuple(
        row
        for row in facts(PairFact, "host_compilers", "pair")
        if row.machine in ("", machine)
        and in_range(gcc, row.gcc)
        and in_range(cuda, row.cuda)
        and in_range(torch, row.torch)
    )


def glibc_facts(cuda: str, glibc: str) -> tuple[GlibcFact, ...]:
    """How a toolkit's headers contradict those of a C library."""
    rows = facts(GlibcFact, "host_compilers", "glibc")
    return tuple(row for row in rows if in_range(cuda, row.cuda) and in_range(glibc, row.glibc))


def extension_fact(torch: str) -> ExtensionFact | None:
    """The table that a release carries; None where nobody knows."""
    rows = facts(ExtensionFact, "host_compilers", "extension")
    return next((row for row in rows if in_range(torch, row.torch)), None)


def packages_fact(distribution: str, release: str) -> PackagesFact | None:
    """What a distribution has, by ``ID`` and ``VERSION_ID``; None where nobody knows."""
    for row in facts(PackagesFact, "host_compilers", "packages"):
        if distribution in row.ids and f"{release}.".startswith(f"{row.release}." if row.release else ""):
            return row
    return None
