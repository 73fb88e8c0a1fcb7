"""Libraries beside the toolkit: how each tells what it is, how a tree takes it, what it must be at least."""

from __future__ import annotations

from typing import Literal

from packaging.version import Version
from pydantic import Field

from torchbuild.knowledge.fact import Fact, facts, facts_file, in_range, table_cache
from torchbuild.model.frozen import Frozen, frozen_value
from torchbuild.model.part import PART_NAMES, PartName

__all__ = [
    "Call",
    "LibraryFact",
    "LibraryWheel",
    "LowestChip",
    "Minimum",
    "library_fact",
    "library_names",
    "library_wheels",
    "lowest_chips",
    "minimums",
]


class Call(Frozen):
    """A function by which a library tells a number."""

    name: str
    """The symbol."""
    shape: Literal["status-code", "number", "property", "three"]
    """How it is called: see ``shim/look_library.py``."""


class LibraryFact(Fact):
    """One library."""

    title: str
    """What people call it."""
    torch: str
    """Releases of torch that know it, a range."""
    headers: tuple[str, ...]
    """What a tree includes, below the include directory."""
    versions: tuple[str, ...]
    """Headers that may hold the version; the first that is there counts."""
    macros: tuple[str, ...]
    """Major, minor, patch."""
    library: str
    """What is linked."""
    call: Call
    """How the library tells its version."""
    cuda_call: Call | None = None
    """How it tells the CUDA runtime that it was built with; None where it does not."""
    says: str
    """A regular expression of what stands in the file, with groups ``version`` and ``cuda``; may be empty."""
    program: str
    """A C++ program that prints the header's version and the library's; empty where nobody wrote one."""
    switch: str
    """The tree's option."""
    system: str
    """The option that makes the tree take a copy from outside; empty where it always does."""
    needs: tuple[str, ...] = Field(alias="with")
    """Further options without which it is of no use."""
    variables: dict[str, str]
    """What hands it over, in the environment."""
    results: dict[str, str]
    """Entries that configure leaves."""
    reads: tuple[str, ...]
    """Further names that the tree reads."""
    distributions: str
    """How its distributions on the Python index begin; empty where it has none."""
    never: dict[str, str]
    """Names that must not be set, each with the reason."""


class LibraryWheel(Fact):
    """The layout of one library's wheels for one CUDA."""

    library: PartName
    """Which."""
    cuda: str
    """Major release of CUDA."""
    distribution: str
    """Its name on the index."""
    first: str
    """Oldest release with this layout."""
    last: str
    """Newest one that was listed."""
    folder: str
    """Where ``include`` and ``lib`` are."""


class Minimum(Fact):
    """What a tree asks of a library."""

    library: PartName
    """Which."""
    torch: str
    """Releases that ask for it, a range."""
    least: str
    """Oldest release that will do."""

    @property
    def is_confirmed(self) -> bool:
        """Whether somebody read it in the tree."""
        return self.checked != "unconfirmed"


class LowestChip(Fact):
    """The oldest chip that a library's releases hold code for."""

    library: PartName
    """Which."""
    cuda: str
    """Major release of CUDA that it was built with; empty for any."""
    first: str
    """Oldest release that this is for."""
    before: str
    """The release that is the first it is not for; empty where none is known."""
    lowest: int
    """Ten times the compute capability."""
    highest: int = 0
    """The newest chip, likewise; newer ones of the same major run its code. 0: nobody looked."""

    @property
    def chips(self) -> str:
        """Which chips, such as ``sm_50 to sm_90``, or ``sm_60 and newer``."""
        return f"sm_{self.lowest} to sm_{self.highest}" if self.highest else f"sm_{self.lowest} and newer"

    def has(self, sm: int) -> bool:
        """Whether there is code for a chip, as far as is known."""
        return self.lowest <= sm and (not self.highest or sm // 10 <= self.highest // 10)


def library_names() -> tuple[PartName, ...]:
    """The parts that are such libraries."""
    return tuple(name for name in PART_NAMES if name in facts_file("libraries"))


@table_cache
def library_fact(name: str) -> LibraryFact:
    """The row of a library."""
    return LibraryFact.model_validate(frozen_value(facts_file("libraries")[name]))


@table_cache
def _wheels() -> tuple[LibraryWheel, ...]:
    return facts(LibraryWheel, "library_wheels", "wheel")


def library_wheels(library: str, cuda: str = "") -> tuple[LibraryWheel, ...]:
    """Layouts of a library's wheels, oldest first; for one major release of CUDA, or for all."""
    found = (row for row in _wheels() if row.library == library and cuda in ("", row.cuda))
    return tuple(sorted(found, key=lambda row: (int(row.cuda), Version(row.first))))


def minimums(library: str, torch: str) -> tuple[Minimum, ...]:
    """What a release of torch asks of a library."""
    rows = facts(Minimum, "library_floors", "minimum")
    return tuple(row for row in rows if row.library == library and in_range(torch, row.torch))


def lowest_chips(library: str, version: str, cuda: str) -> tuple[LowestChip, ...]:
    """What a release of a library, built with a major release of CUDA, is known to run on."""
    wanted = Version(version)
    rows = facts(LowestChip, "library_floors", "chips")
    return tuple(
        row
        for row in rows
        if row.library == library
        and row.cuda in ("", cuda)
        and Version(row.first) <= wanted
        and (not row.before or wanted < Version(row.before))
    )
