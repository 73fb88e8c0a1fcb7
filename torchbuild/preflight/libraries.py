"""Libraries beside the toolkit: for this CUDA, new enough for the tree, with code for the chips."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchbuild.knowledge.archive_names import built_with
from torchbuild.knowledge.libraries import LowestChip, library_fact, lowest_chips, minimums
from torchbuild.knowledge.references import references
from torchbuild.model.finding import Finding
from torchbuild.model.gpu_arch import parse_arch
from torchbuild.model.part import PartName
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Library
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, forbidden, not_run, passed
from torchbuild.toolchains import library_proof
from torchbuild.toolchains.library_wish import numbers, same_release
from torchbuild.toolchains.proof import Wanted, judge
from torchbuild.toolchains.wished import LIBRARIES, wished_part

__all__ = ["for_the_chips", "for_the_cuda", "for_the_tree", "of_this_machine", "several_wheels"]

_LOOKED_AT = ("header", "file", "header-agrees", "version", "cuda", "minimum", "chips")
"""Checks of a library that need no compiler and no other copy."""
_SEVERAL = re.compile(r"nvidia[-_](?P<library>[a-z]+)[-_]cu(?P<cuda>[0-9]+)", re.IGNORECASE)


def _wished(recipe: Recipe) -> Iterator[tuple[PartName, Library]]:
    for name in LIBRARIES:
        library = getattr(recipe, name)
        if isinstance(library, Library):
            yield name, library


def for_the_cuda(case: Case) -> Iterator[Preflight]:
    """An archive's own name says which CUDA its library was built with, and which release it is."""
    recipe = case.recipe
    if recipe is None or recipe.cuda is None:
        return
    for name, library in _wished(recipe):
        title, archive = library_fact(name).title, (library.archive or "").rpartition("/")[2]
        found = built_with(archive)
        if found is None:
            continue
        what = f"{title} of {archive}"
        if numbers(found.cuda)[:1] != numbers(recipe.cuda.version)[:1]:
            yield failed(
                "library-for-other-cuda",
                f"{what} was built with another CUDA",
                seen=f"CUDA {found.cuda}, by the archive's name",
                wanted=f"CUDA {numbers(recipe.cuda.version)[0]}.x, as cuda.version = {recipe.cuda.version}",
                fix=f"Name an archive for this CUDA in {name}.archive, or change cuda.version.",
                blames="recipe",
            )
        elif library.version and found.version and not same_release(found.version, library.version):
            yield failed(
                "library-for-other-cuda",
                f"{what} is another release",
                seen=f"{found.version}, by the archive's name",
                wanted=f"{name}.version = {library.version}",
                fix=f"Correct {name}.version or {name}.archive.",
                blames="recipe",
            )
        else:
            yield passed(
                "library-for-other-cuda", what, seen=f"CUDA {found.cuda}", wanted=recipe.cuda.version
            )


def for_the_tree(case: Case) -> Iterator[Preflight]:
    """Below what a tree asks for it does not compile, an hour in."""
    recipe = case.recipe
    if recipe is None or recipe.wheel.package != "torch":
        return
    for name, library in _wished(recipe):
        if f"{name}-lacks-chip" in _told_by_facts(case):
            continue
        for fact in minimums(name, recipe.wheel.version) if library.version else ():
            what = f"{library_fact(name).title} {library.version} for torch {recipe.wheel.version}"
            wanted = f">={fact.least} ({fact.source})"
            if numbers(library.version or "") >= numbers(fact.least):
                yield passed("library-below-floor", what, wanted=wanted)
            else:
                yield forbidden(
                    "library-below-floor",
                    f"{what}: the tree needs a newer one",
                    is_confirmed=fact.is_confirmed,
                    seen=library.version or "",
                    wanted=wanted,
                    fix=f"Raise {name}.version.",
                )


def for_the_chips(case: Case) -> Iterator[Preflight]:
    """The library's list of architectures is a second one: no other chip runs with its code."""
    recipe = case.recipe
    if recipe is None or recipe.cuda is None or not recipe.cuda.archs:
        return
    for name, library in _wished(recipe):
        if library.version is None or library.source in ("source", "bundled"):
            continue
        if f"{name}-lacks-chip" in _told_by_facts(case) or not numbers(library.version):
            continue
        major = recipe.cuda.version.split(".")[0]
        for fact in lowest_chips(name, ".".join(map(str, numbers(library.version))), major):
            yield _chips(name, library, recipe.cuda.archs, fact)


def _told_by_facts(case: Case) -> set[str]:
    """What the facts were asked and answered already: it is not told twice."""
    return {item.reference for item in case.advice.conflicts} if case.advice is not None else set()


def _chips(name: str, library: Library, archs: tuple[str, ...], fact: LowestChip) -> Preflight:
    lacking = [arch.real for arch in map(parse_arch, archs) if not fact.has(arch.number)]
    of_whom = ", ".join(lacking or [parse_arch(text).real for text in archs])
    what = f"code in {library_fact(name).title} {library.version} for {of_whom}"
    wanted = f"{fact.chips} ({fact.source})"
    if not lacking:
        return passed("library-without-chip", what, wanted=wanted)
    return forbidden(
        "library-without-chip",
        what,
        is_confirmed=fact.checked != "unconfirmed",
        seen=f"cuda.archs has {of_whom}",
        wanted=wanted,
        fix=f"Take another release in {name}.version, or leave that chip out of cuda.archs.",
    )


def of_this_machine(case: Case) -> Iterator[Preflight]:
    """What a build here takes from this machine: what its header and its file themselves say."""
    recipe = case.recipe
    if recipe is None or recipe.cuda is None:
        return
    for name, library in _wished(recipe):
        if library.source != "system":
            continue
        title = library_fact(name).title
        part = wished_part(recipe, name)
        if not case.builds_here or part is None or name not in case.libraries:
            why = (
                "`torchbuild lock` looks into the builder image" if not case.builds_here else "nobody looked"
            )
            yield not_run("library-of-machine", f"{title} of the builder: {why}")
            continue
        wanted = Wanted(
            archs=recipe.cuda.archs,
            torch=recipe.wheel.version,
            machine=recipe.target.machine,
            cuda=recipe.cuda.version,
        )
        checks = {key: library_proof.CHECKS[key] for key in _LOOKED_AT}
        for item in judge(checks, part, wanted, case.libraries[name]):
            yield _judged(item, name)


def _judged(finding: Finding, name: str) -> Preflight:
    """A finding of the library's proof, which a build would make after fetching."""
    row = references().get(finding.reference)
    is_bad = finding.outcome in ("failed", "warned")
    return Preflight(
        reference=finding.reference,
        outcome=finding.outcome,
        what=finding.what,
        seen=finding.seen,
        wanted=finding.wanted,
        fix=(row.fix if row is not None else f"Correct {name}.path.") if is_bad else "",
        is_fatal=finding.outcome == "failed",
        blames="host",
    )


def several_wheels(case: Case) -> Iterator[Preflight]:
    """Two wheels of one library lay their files over one another, whichever CUDA each is for."""
    recipe = case.recipe
    if recipe is None:
        return
    found: dict[str, set[str]] = {}
    for text in (*recipe.build.requires, *(recipe.wheel.requires or ()), *recipe.verify.packages):
        match = _SEVERAL.match(text)
        if match is not None:
            found.setdefault(match["library"].lower(), set()).add(match["cuda"])
    major = recipe.cuda.version.split(".")[0] if recipe.cuda is not None else ""
    for library, cudas in sorted(found.items()):
        if len(cudas) > 1 or (major and cudas != {major}):
            yield failed(
                "library-for-other-cuda",
                f"wheels of {library} that the recipe requires",
                seen=", ".join(f"nvidia-{library}-cu{cuda}" for cuda in sorted(cudas)),
                wanted=f"nvidia-{library}-cu{major} alone" if major else "one of them",
                fix="Correct build.requires, wheel.requires and verify.packages.",
                blames="recipe",
            )
