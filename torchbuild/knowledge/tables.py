"""Facts, as typed rows read from TOML. Every row says where it is from and when it was read."""

from __future__ import annotations

from typing import Literal

from torchbuild.knowledge.fact import Fact, facts, facts_file, in_range, table_cache
from torchbuild.model.frozen import Frozen, frozen_value

__all__ = [
    "BenignEntry",
    "BlasFact",
    "CMakeFact",
    "EraFact",
    "FoundOption",
    "LateFact",
    "OfficialCuda",
    "OptionFacts",
    "Preset",
    "PrintedFlag",
    "SettledOption",
    "SwitchFact",
    "blas_fact",
    "cmake_fact",
    "era_fact",
    "era_of_backend",
    "late_facts",
    "official_cuda",
    "option_facts",
    "preset",
    "switch_fact",
    "switch_needs",
]


class EraFact(Fact):
    """How a tree's front end takes what it is told."""

    backends: tuple[str, ...]
    """``build-backend`` values of this era."""
    requires: tuple[str, ...]
    """Build requirements beyond those that the tree declares."""
    prefixes: tuple[str, ...]
    """Prefixes of environment variables that reach CMake."""
    suffixes: tuple[str, ...]
    """Suffixes of variables that do."""
    names: tuple[str, ...]
    """Further variables that do."""
    renames: dict[str, str]
    """Variables that arrive under another name."""
    defines: Literal["none", "config-setting"]
    """How any other definition reaches CMake."""
    hands: dict[str, str]
    """Definitions that the front end adds by itself."""
    front_end_only: tuple[str, ...]
    """Switches that mean nothing to CMake."""

    def reaches(self, variable: str) -> bool:
        """Whether an environment variable arrives in CMake."""
        named = variable in self.names or variable in self.renames
        return named or variable.startswith(self.prefixes) or variable.endswith(self.suffixes)


class BlasFact(Fact):
    """What a BLAS is called."""

    blas: str
    """Value of the ``BLAS`` variable."""
    within: dict[str, str]
    """Regular expressions of cache entries, and what each that matches must hold; one must be there."""
    where_asked: dict[str, str]
    """The same for entries that only some trees have."""
    settings: dict[str, str]
    """Build settings that ``config.show()`` prints."""


class Preset(Fact):
    """Flags to begin with."""

    torch: str
    """Releases that this is for, a range."""
    off: tuple[str, ...]
    """Switched off."""
    on: tuple[str, ...]
    """Switched on."""
    env: dict[str, str]
    """Further variables of the build."""


class OfficialCuda(Fact):
    """What upstream's builds with CUDA are told besides."""

    torch: str
    """Releases that this is for, a range."""
    cuda: str
    """Toolkits, a range."""
    env: dict[str, str]
    """Further variables of the build."""


class SwitchFact(Fact):
    """Switches that count only while others are on."""

    needs: dict[str, tuple[str, ...]]
    """By the switch's name, the others, nearest only."""


class FoundOption(Fact):
    """A feature that is built when the machine happens to have what it needs."""

    name: str
    """The switch."""
    unless: str
    """A table of the recipe that asks for it; empty where none does."""
    among: str = ""
    """The table of the recipe with which alone the tree looks for it; empty for always."""


class SettledOption(Fact):
    """An option that a tree changes after it looked at the machine."""

    name: str
    """The switch."""
    value: str
    """``ON`` or ``OFF``."""
    when: str
    """CMake's own condition."""


class PrintedFlag(Fact):
    """A setting that a wheel prints like an option, and that is none."""

    name: str
    """As it is printed."""
    value: str
    """``ON`` or ``OFF``."""


class BenignEntry(Fact):
    """Cache entries that may be NOTFOUND."""

    names: str
    """A regular expression of whole names."""


class OptionFacts(Frozen):
    """What a tree's CMake files do not tell about their options."""

    found: tuple[FoundOption, ...]
    """Picked up where nobody turns them off."""
    settled: tuple[SettledOption, ...]
    """Changed after a look at the machine."""
    printed: tuple[PrintedFlag, ...]
    """Printed by a wheel, and no option."""
    benign: tuple[BenignEntry, ...]
    """May be NOTFOUND."""


class LateFact(Fact):
    """What a tree fetches by itself in the middle of its build."""

    name: str
    """What it is called."""
    package: str
    """The distribution whose tree does."""
    torch: str
    """Releases that this is for, a range."""
    pins: tuple[str, ...]
    """Files of the tree that hold a tag or a commit; the first that is there counts."""
    is_required: bool
    """Whether a tree without any of these files cannot be built."""
    repository: str
    """Where it is fetched from."""
    to: str
    """Where the tree looks for it."""
    when: str
    """CMake's own condition; empty for always."""

    def is_for(self, package: str, release: str) -> bool:
        """Whether a release of a package fetches it."""
        return package == self.package and in_range(release, self.torch)


class CMakeFact(Fact):
    """What CMake sets before a tree's first line."""

    variables: dict[str, str]
    """Names with their values."""
    unknown: tuple[str, ...]
    """Names whose value depends on the machine."""
    unset: tuple[str, ...]
    """Names that are not set on Linux."""
    policies: dict[str, str]
    """Policies that count here, and the release since which each is new."""
    modules: dict[str, dict[str, str]]
    """Options that CMake's own modules declare, with their defaults."""

    def release(self, policy: str) -> tuple[int, int]:
        """Since when a policy is new."""
        major, minor = self.policies[policy].split(".")
        return int(major), int(minor)


def era_fact(era: str) -> EraFact:
    """The row of an era."""
    return EraFact.model_validate(frozen_value(facts_file("eras")[era]))


def era_of_backend(backend: str) -> str | None:
    """The era whose front end this ``build-backend`` is, or None."""
    return next((era for era, row in facts_file("eras").items() if backend in row["backends"]), None)


def blas_fact(provider: str) -> BlasFact:
    """The row of a BLAS provider."""
    return BlasFact.model_validate(frozen_value(facts_file("blas")[provider]))


def official_cuda(torch: str, cuda: str) -> OfficialCuda | None:
    """What upstream's build of a release with a toolkit is told besides; None where nobody knows."""
    rows = facts(OfficialCuda, "official_cuda", "official")
    return next((row for row in rows if in_range(torch, row.torch) and in_range(cuda, row.cuda)), None)


def preset(name: str, release: str) -> Preset | None:
    """A preset's flags for a release; None where nobody knows them."""
    return next((row for row in facts(Preset, "presets", name) if in_range(release, row.torch)), None)


@table_cache
def late_facts() -> tuple[LateFact, ...]:
    """What trees fetch by themselves."""
    return facts(LateFact, "late_sources", "late")


@table_cache
def option_facts() -> OptionFacts:
    """What is known about options beyond what a tree declares."""
    return OptionFacts.model_validate(frozen_value(facts_file("options")))


@table_cache
def cmake_fact() -> CMakeFact:
    """What CMake sets on Linux."""
    return CMakeFact.model_validate(frozen_value(facts_file("cmake_variables")["linux"]))


@table_cache
def switch_fact() -> SwitchFact:
    """Which switches depend on others."""
    return SwitchFact.model_validate(frozen_value(facts_file("switches")["dependent"]))


def switch_needs(name: str) -> tuple[str, ...]:
    """All switches that must be on for this one to count, theirs included, sorted."""
    needs = switch_fact().needs
    found: set[str] = set()
    todo = list(needs.get(name, ()))
    while todo:
        parent = todo.pop()
        if parent not in found:
            found.add(parent)
            todo += needs.get(parent, ())
    return tuple(sorted(found))
