"""Providers ``system`` and ``bundled`` of the libraries: what the builder has, and what the tree brings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from torchbuild.errors import ConflictError
from torchbuild.knowledge.libraries import library_fact, library_names
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.part import LockedPart, PartName
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.library_wish import cuda_major, library_of, same_release
from torchbuild.toolchains.provider import Answers, Provider, Questions

__all__ = ["BUNDLED", "BUNDLED_ANSWER", "SYSTEM", "Bundled", "System", "bundled_answer", "surveyed"]

BUNDLED_ANSWER = "nccl.bundled"
"""Name of the answer that says which NCCL the tree will build."""
_PLACES = ("third_party/nccl/nccl", "third_party/nccl")
"""Where trees keep its source."""
_TAG = re.compile(r"v?(?P<version>[0-9]+(?:\.[0-9]+)+)(?:-[0-9]+)?")


def bundled_answer(
    late: Iterable[tuple[str, str]], submodules: Iterable[tuple[str, str]], laid: Iterable[str] = ()
) -> str:
    """Which NCCL a tree will build by itself, for `BUNDLED_ANSWER`; empty where it brings none.

    Args:
        late: folder and pin (a tag or a commit) of each late source.
        submodules: folder and commit of each submodule.
        laid: folders that an archive or an overlay fills.
    """
    pins = dict(submodules) | dict(late) | dict.fromkeys((item.rstrip("/") for item in laid), "laid")
    return next((pins[place] for place in _PLACES if place in pins), "")


def surveyed(name: str, seen: Mapping[str, Any]) -> dict[str, str]:
    """What ``look_library.py`` saw of a library in the builder, as `System.part` reads it."""
    header, library = (str((seen.get(key) or {}).get("path") or "") for key in ("header", "library"))
    kinds = {(seen.get(key) or {}).get("kind") for key in ("header", "library")}
    found = {"prefix": str(seen.get("prefix") or "")}
    if kinds == {"file"}:
        found |= {"include": header.rpartition("/")[0], "library": library}
    return {f"{name}.{key}": value for key, value in found.items()}


@dataclass(frozen=True, slots=True)
class System:
    """One library out of the builder, which is only looked at."""

    name: PartName
    """Which."""

    def questions(self, recipe: Recipe) -> Questions:
        """Nothing."""
        cuda_major(self.name, recipe)
        return Questions()

    def part(self, recipe: Recipe, answers: Answers) -> LockedPart:
        """Where it is. The answers may name the real ``prefix``, ``include`` and ``library`` of the part."""
        self.questions(recipe)
        wish = library_of(self.name, recipe)
        known = {key: answers.builder.get(f"{self.name}.{key}", "") for key in ("include", "library")}
        path = (wish.path if wish is not None else None) or "/usr"
        if f"{self.name}.prefix" in answers.builder and not all(known.values()):
            raise _not_in_builder(self.name, path)
        return LockedPart(
            name=self.name,
            provider="system",
            version=(wish.version if wish is not None else None) or "",
            prefix=answers.builder.get(f"{self.name}.prefix") or path,
            says={key: value for key, value in known.items() if value},
        )


@dataclass(frozen=True, slots=True)
class Bundled:
    """NCCL as the tree itself pins and builds it."""

    def questions(self, recipe: Recipe) -> Questions:
        """Nothing: its source is the tree's, or a late source of it."""
        cuda_major("nccl", recipe)
        return Questions()

    def part(self, recipe: Recipe, answers: Answers) -> LockedPart:
        """What the tree will make of it.

        Raises:
            ConflictError: ``bundled-nccl-missing``, ``bundled-nccl-differs``.
        """
        self.questions(recipe)
        pin = answers.builder.get(BUNDLED_ANSWER, "")
        if not pin:
            raise _no_bundled()
        found = _TAG.fullmatch(pin)
        version = found["version"] if found is not None else ""
        wish = library_of("nccl", recipe)
        wanted = (wish.version if wish is not None else None) or ""
        if wanted and version and not same_release(version, wanted):
            raise _other_bundled(pin, wanted)
        return LockedPart(
            name="nccl",
            provider="bundled",
            version=version or wanted,
            prefix=f"{BUILD_ROOT}/source/build/nccl",
            says={"pin": pin},
        )


def _not_in_builder(name: str, path: str) -> ConflictError:
    title = library_fact(name).title
    return ConflictError(
        "library-not-in-builder",
        f"the builder has no {title} in {path}",
        why=(f"seen no header and library of {title} that can be read there", f"wanted both below {path}"),
        fix=f"Correct {name}.path, add the package that brings it to the builder, or set {name}.from.",
    )


def _no_bundled() -> ConflictError:
    return ConflictError(
        "bundled-nccl-missing",
        "the tree does not bring NCCL",
        why=(
            "seen no submodule and no late source at " + " or ".join(_PLACES),
            "wanted one of them: without it the build would clone NCCL, and there is no network in it",
            "source: pytorch/pytorch PR 181450, #149803",
        ),
        fix='Set nccl.from to "wheels", "tarball" or "source", or name the git repository as the source.',
    )


def _other_bundled(pin: str, wanted: str) -> ConflictError:
    return ConflictError(
        "bundled-nccl-differs",
        "the tree pins another NCCL than the recipe asks for",
        why=(f"seen the tree's own pin {pin}", f"wanted nccl.version = {wanted}"),
        fix='Remove nccl.version to take the tree\'s, or set nccl.from to "wheels", "tarball" or "source".',
    )


SYSTEM: Mapping[str, Provider] = MappingProxyType({name: System(name) for name in library_names()})
"""By the part's name."""
BUNDLED: Mapping[str, Provider] = MappingProxyType({"nccl": Bundled()})
"""By the part's name."""
