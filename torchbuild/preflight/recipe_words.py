"""What a recipe itself says that is known to go wrong: bounds, options, lists that are too long."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from torchbuild.knowledge.cuda_facts import reported_pairs
from torchbuild.knowledge.fact import Fact, facts, in_range
from torchbuild.knowledge.requirements import BoundFact
from torchbuild.knowledge.torch_releases import torch_cmake
from torchbuild.model.recipe import Recipe
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, passed, warned

__all__ = ["build_programs", "many_architectures", "native_code", "pairs"]

_MANY = 7
"""Architectures from which on reports tell of linkers that overflow."""
_POLICY = "CMAKE_POLICY_VERSION_MINIMUM"
"""With it, CMake 4 takes trees that are older than it."""
_NATIVE = re.compile(r"-m(?:arch|cpu|tune)=native\b")
_MAJORS, _MINORS = 100, 60
"""What stands for all releases of a build program: no bound of a tree needs a finer one."""


def build_programs(case: Case) -> Iterator[Preflight]:
    """CMake and setuptools by the recipe's bounds, against those that the tree works with."""
    recipe = case.recipe
    if recipe is None or recipe.wheel.package != "torch" or _POLICY in recipe.build.cmake:
        return
    own = _own_bounds(recipe.wheel.version)
    for name, asked in dict(_asked(recipe)).items():
        if name in own:
            yield _bounded(recipe, name, asked, own[name])


def _own_bounds(release: str) -> dict[str, list[tuple[SpecifierSet, Fact]]]:
    """The tree's bounds by program, each with what says so."""
    found: dict[str, list[tuple[SpecifierSet, Fact]]] = {}
    for row in facts(BoundFact, "build_bounds", "bound"):
        for item in map(Requirement, row.requires) if in_range(release, row.torch) else ():
            found.setdefault(item.name, []).append((item.specifier, row))
    oldest = torch_cmake(release)
    if oldest is not None:
        found.setdefault("cmake", []).append((SpecifierSet(oldest.cmake), oldest))
    return found


def _bounded(
    recipe: Recipe, name: str, asked: SpecifierSet, own: list[tuple[SpecifierSet, Fact]]
) -> Preflight:
    tree = SpecifierSet(",".join(str(specifier) for specifier, _ in own))
    what = f"{name} for torch {recipe.wheel.version}"
    key = "toolchain.cmake" if name == "cmake" else "build.requires"
    sources = "; ".join(dict.fromkeys(row.source for _, row in own))
    seen, wanted = f"{key} asks for {asked}", f"{tree} ({sources})"
    if _meet(asked, tree):
        return passed("build-program-bounds", what, seen=str(asked), wanted=wanted)
    told, fix = f"{what}: no release lies within both bounds", f"Leave {name} out of {key}."
    if any(row.checked == "unconfirmed" for _, row in own):
        told = f"{told}; nobody confirmed the tree's"
        return warned("build-program-bounds", told, seen=seen, wanted=wanted, fix=fix, blames="recipe")
    return failed("build-program-bounds", told, seen=seen, wanted=wanted, fix=fix, blames="recipe")


def _meet(ours: SpecifierSet, theirs: SpecifierSet) -> bool:
    """Whether some release lies within both bounds."""
    releases = (f"{major}.{minor}" for major in range(_MAJORS) for minor in range(_MINORS))
    return any(ours.contains(item) and theirs.contains(item) for item in releases)


def _asked(recipe: Recipe) -> Iterator[tuple[str, SpecifierSet]]:
    if "cmake" in recipe.toolchain.model_fields_set:
        yield "cmake", SpecifierSet(recipe.toolchain.cmake)
    for text in recipe.build.requires:
        try:
            found = Requirement(text)
        except InvalidRequirement:  # told with the recipe's problems
            continue
        yield canonicalize_name(found.name), found.specifier


def many_architectures(case: Case) -> Iterator[Preflight]:
    """Code for many chips does not fit into what one library's relocations can span."""
    cuda = case.recipe.cuda if case.recipe is not None else None
    if cuda is None or len(cuda.archs) < _MANY:
        return
    yield warned(
        "archs-many",
        "the list of architectures: libraries above 2 GiB do not link, and build time and disk grow with it",
        seen=f"{len(cuda.archs)} architectures",
        wanted=f"fewer than {_MANY} (pytorch/pytorch issues 48588 and 39968, PR 157558)",
        fix="Leave out chips that nobody has, or build a wheel for each group of them.",
        blames="recipe",
    )


def native_code(case: Case) -> Iterator[Preflight]:
    """A wheel for the processor that built it ends on others with an illegal instruction."""
    recipe = case.recipe
    if recipe is None:
        return
    tables = (("build.env", recipe.build.env), ("build.cmake", recipe.build.cmake))
    found = [
        f"{table}.{name}"
        for table, rows in tables
        for name, value in rows.items()
        if _NATIVE.search(str(value))
    ]
    if found:
        yield warned(
            "cpu-native",
            "options for the builder's own processor: on others the wheel ends at its first import",
            seen=", ".join(found),
            wanted="none: torch chooses its code at run time (pytorch/pytorch issue 32724)",
            fix="Remove -march=native and its like.",
            blames="recipe",
        )


def pairs(case: Case) -> Iterator[Preflight]:
    """A toolkit without what the tree links or includes; the tree itself decides, when it is locked."""
    recipe = case.recipe
    if recipe is None or recipe.cuda is None or recipe.wheel.package != "torch":
        return
    torch, machine = recipe.wheel.version, recipe.target.machine
    for pair in reported_pairs(torch=torch, cuda=recipe.cuda.version, machine=machine):
        if not pair.glibc:
            yield warned(
                "toolkit-tree-pair",
                f"{pair.name}: {pair.what}",
                seen=f"torch {recipe.wheel.version} and CUDA {recipe.cuda.version}",
                wanted=f"another pair ({pair.source})",
                fix=pair.fix,
                blames="recipe",
            )
