"""What is known of host compilers: nvcc's limits, torch's minimum, pairs that break, packages with one."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from torchbuild.model.frozen import Frozen, frozen_value

__all__ = [
    "ExtensionFact",
    "GlibcFact",
    "NvccFact",
    "PackagesFact",
    "PairFact",
    "TorchFact",
    "extension_fact",
    "glibc_facts",
    "in_range",
    "nvcc_fact",
    "packages_fact",
    "pair_facts",
    "torch_fact",
]


class _Fact(Frozen):
    """A row."""

    source: str
    """What was read."""
    checked: str
    """When, as a date; or ``unconfirmed``."""


class NvccFact(_Fact):
    """What nvcc of some releases takes."""

    cuda: str
    """Releases, a range."""
    gcc: str
    """What its header takes, a range."""
    clang: str
    """The same for clang."""
    minimum: str
    """What NVIDIA asks of gcc besides, a range."""


class TorchFact(_Fact):
    """What some torch releases need."""

    torch: str
    """Releases, a range."""
    gcc: str
    """A range."""
    standard: str
    """C++ standard, such as ``17``."""
    is_fatal: bool
    """Whether the tree's own CMake file stops at anything else."""


class PairFact(_Fact):
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


class GlibcFact(_Fact):
    """Toolkits that contradict the headers of the C library."""

    cuda: str
    """Releases, a range."""
    glibc: str
    """Releases, a range."""
    what: str
    """What happens."""
    signs: tuple[str, ...]
    """By which it is known in what a compiler says."""


class ExtensionFact(_Fact):
    """torch's own table, asked when an extension is compiled for a wheel."""

    torch: str
    """Releases that carry it, a range."""
    refuses: dict[str, str]
    """By release of CUDA, the first gcc that is too new for it."""


class PackagesFact(_Fact):
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


def in_range(version: str, wanted: str) -> bool:
    """Whether a version lies in a range such as ``>=12,<14``; an empty range is any.

    What is to become a release counts as that one: ``2.13.0a0+git`` is no older than 2.13. A version that
    cannot be read lies in no range.
    """
    if not wanted:
        return True
    try:
        return SpecifierSet(wanted).contains(Version(version).base_version)
    except InvalidVersion:
        return False


_Row = TypeVar("_Row", bound=_Fact)


@cache
def _table() -> dict[str, list[dict[str, Any]]]:
    text = (files("torchbuild.knowledge") / "data" / "host_compilers.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _rows(table: str, kind: type[_Row]) -> tuple[_Row, ...]:
    return tuple(kind.model_validate(frozen_value(row)) for row in _table()[table])


def nvcc_fact(cuda: str) -> NvccFact | None:
    """What nvcc of a release such as ``12.4.1`` takes; None where nobody knows."""
    return next((row for row in _rows("nvcc", NvccFact) if in_range(cuda, row.cuda)), None)


def torch_fact(torch: str) -> TorchFact | None:
    """What a release needs; None where nobody knows."""
    return next((row for row in _rows("torch", TorchFact) if in_range(torch, row.torch)), None)


def pair_facts(gcc: str, *, cuda: str, torch: str, machine: str) -> tuple[PairFact, ...]:
    """The known ways in which this very combination breaks."""
    return tuple(
        row
        for row in _rows("pair", PairFact)
        if row.machine in ("", machine)
        and in_range(gcc, row.gcc)
        and in_range(cuda, row.cuda)
        and in_range(torch, row.torch)
    )


def glibc_facts(cuda: str, glibc: str) -> tuple[GlibcFact, ...]:
    """How a toolkit's headers contradict those of a C library."""
    rows = _rows("glibc", GlibcFact)
    return tuple(row for row in rows if in_range(cuda, row.cuda) and in_range(glibc, row.glibc))


def extension_fact(torch: str) -> ExtensionFact | None:
    """The table that a release carries; None where nobody knows."""
    rows = _rows("extension", ExtensionFact)
    return next((row for row in rows if in_range(torch, row.torch)), None)


def packages_fact(distribution: str, release: str) -> PackagesFact | None:
    """What a distribution has, by ``ID`` and ``VERSION_ID``; None where nobody knows."""
    for row in _rows("packages", PackagesFact):
        if distribution in row.ids and f"{release}.".startswith(f"{row.release}." if row.release else ""):
            return row
    return None
