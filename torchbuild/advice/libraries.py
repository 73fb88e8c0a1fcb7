"""cuDNN and NCCL: a release with code for every chip, that the tree takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from packaging.version import Version

from torchbuild.advice import cite
from torchbuild.advice.answer import Cited
from torchbuild.advice.target import Case
from torchbuild.advice.versions import minor_of
from torchbuild.knowledge.cuda import CudaRelease
from torchbuild.knowledge.libraries import lowest_chips, minimums
from torchbuild.knowledge.library_releases import LibraryReleases, every_release, library_releases
from torchbuild.knowledge.torch_releases import OfficialBuild, official_builds

__all__ = ["Library", "NoLibrary", "Wanted", "choose_library"]

Wanted = Literal["cudnn", "nccl"]
_MACHINES = ("x86_64", "aarch64")


@dataclass(frozen=True, slots=True)
class Library:
    """A release that will do."""

    version: str
    """Such as ``9.1.0.70``."""
    why: str
    """Why this one."""
    facts: tuple[Cited, ...]
    """What decided it."""


@dataclass(frozen=True, slots=True)
class NoLibrary:
    """Why none will do."""

    facts: tuple[Cited, ...]
    """The facts that rule all of them out."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A release, weighed."""

    version: str
    against: tuple[Cited, ...]
    """Facts that rule it out."""


def choose_library(name: Wanted, case: Case, cuda: CudaRelease) -> Library | NoLibrary | None:
    """The release to take; None where none is wanted, or where nobody knows any for this toolkit."""
    asked = getattr(case.wish, name)
    if asked == "none":
        return None
    if asked:
        against_it = (*_unmade(name, asked, cuda), *_weigh(name, asked, case, cuda).against)
        if against_it:
            return NoLibrary(against_it)
        return Library(asked, "it is asked for", (cite.asked(name, asked),))
    against: list[Cited] = []
    for version, why, facts in _candidates(name, case, cuda):
        weighed = _weigh(name, version, case, cuda)
        if not weighed.against:
            return Library(version, why, facts or _floors(name, version, case, cuda))
        against += weighed.against
    return NoLibrary(tuple(dict.fromkeys(against))) if against else None


def _major(cuda: CudaRelease) -> str:
    return cuda.version.split(".", 1)[0]


def _pin(build: OfficialBuild, name: Wanted) -> str:
    return build.cudnn if name == "cudnn" else build.nccl


def _candidates(name: Wanted, case: Case, cuda: CudaRelease) -> Iterator[tuple[str, str, tuple[Cited, ...]]]:
    """Releases in the order of preference: what upstream took, then older ones, then newer ones."""
    builds = official_builds(case.wish.torch, case.wish.machine)
    minor = minor_of(cuda.version)
    exact = [item for item in builds if item.cuda == minor and _pin(item, name)]
    yield from ((_pin(item, name), "torch was released with it", (cite.official(item),)) for item in exact)
    near = [item for item in builds if item.cuda.split(".")[0] == _major(cuda) and _pin(item, name)]
    pins = sorted({_pin(item, name) for item in near}, key=_key, reverse=True)
    yield from ((pin, f"torch was released with it, for another CUDA {_major(cuda)}", ()) for pin in pins)
    known = sorted(library_releases(name, _major(cuda)), key=_key, reverse=True)
    top = _key(pins[0]) if pins else _elsewhere(name, case.wish.torch, _major(cuda))
    older = [item for item in known if top is None or _key(item) <= top]
    why = "it is the newest that has code for every chip" + (
        ", of those that are no newer than what torch was released with" if top else ""
    )
    yield from ((item, why, ()) for item in older)
    newer = [item for item in reversed(known) if top is not None and _key(item) > top]
    yield from ((item, "it is the first that has code for every chip", ()) for item in newer)


def _elsewhere(name: Wanted, torch: str, major: str) -> Version | None:
    """What upstream took with this torch for another machine, or for another CUDA: as near as can be told."""
    every = [item for machine in _MACHINES for item in official_builds(torch, machine) if _pin(item, name)]
    same = [item for item in every if item.cuda.split(".")[0] == major]
    return max((_key(_pin(item, name)) for item in same or every), default=None)


def _unmade(name: Wanted, version: str, cuda: CudaRelease) -> tuple[Cited, ...]:
    """That a cuDNN was published for other toolkits and not for this one. NCCL can be compiled for any."""
    if name != "cudnn":
        return ()
    rows = every_release(name)
    own = next((row for row in rows if row.cuda == _major(cuda)), None)
    made_for = [row for row in rows if _among(version, row)]
    return (cite.library_releases(own),) if own and made_for and own not in made_for else ()


def _among(version: str, row: LibraryReleases) -> bool:
    return any(item == version or item.startswith(f"{version}.") for item in row.versions)


def _weigh(name: Wanted, version: str, case: Case, cuda: CudaRelease) -> _Weighed:
    chips = lowest_chips(name, version, _major(cuda)) if _is_version(version) else ()
    lacks = tuple(
        cite.lowest_chip(row) for row in chips if not all(row.has(number) for number in case.numbers)
    )
    floors = minimums(name, case.wish.torch) if _is_version(version) else ()
    below = tuple(cite.minimum(row) for row in floors if row.is_confirmed and _key(version) < _key(row.least))
    return _Weighed(version, (*lacks, *below))


def _floors(name: Wanted, version: str, case: Case, cuda: CudaRelease) -> tuple[Cited, ...]:
    """What allows a release."""
    chips = tuple(cite.lowest_chip(row) for row in lowest_chips(name, version, _major(cuda)))
    return (*chips, *(cite.minimum(row) for row in minimums(name, case.wish.torch)))


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except ValueError:  # InvalidVersion is one; so is a number of thousands of digits
        return False
    return True


def _key(text: str) -> Version:
    return Version(text) if _is_version(text) else Version("0")
