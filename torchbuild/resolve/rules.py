"""What a recipe must be beyond types: keys that go together, paths that stay inside, names that are taken."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.inner_path import leaves
from torchbuild.model.recipe import Overlay, Recipe, Series, Source
from torchbuild.resolve.addresses import address_problems
from torchbuild.resolve.decode import invalid
from torchbuild.resolve.image_rules import image_problems
from torchbuild.resolve.lines import Places
from torchbuild.resolve.option_rules import option_problems
from torchbuild.resolve.pool_rules import pool_problems
from torchbuild.resolve.problems import MOST_PROBLEMS, located, shown
from torchbuild.resolve.source_rules import source_problems
from torchbuild.resolve.support import unsupported
from torchbuild.resolve.target_rules import target_problems
from torchbuild.resolve.toolchain_rules import toolchain_problems
from torchbuild.resolve.variables import secret_problems, variable_problems
from torchbuild.resolve.verify_rules import verify_problems

__all__ = ["check_rules"]


def check_rules(recipe: Recipe, *, file: str, places: Places) -> None:
    """Raise RecipeError(recipe-invalid) with all problems, or RecipeError(recipe-not-supported-yet)."""
    wrong = tuple(islice(_problems(recipe), MOST_PROBLEMS))
    if wrong:
        raise invalid(wrong, file, places)
    later = tuple(unsupported(recipe))
    if later:
        raise RecipeError(
            "recipe-not-supported-yet",
            f"{file} asks for what this version cannot do yet",
            problems=tuple(located(problem, file, places) for problem in later),
            fix="Remove these keys, or use a version of torchbuild that acts on them.",
        )


def _problems(recipe: Recipe) -> Iterator[Problem]:
    yield from _source("source", recipe.source)
    for index, companion in enumerate(recipe.companions):
        yield from _source(f"companions[{index}].source", companion.source)
    yield from _python(recipe)
    yield from _builder(recipe)
    yield from _wheel(recipe)
    yield from _requirements(recipe)
    yield from variable_problems(recipe)
    yield from secret_problems(recipe)
    yield from target_problems(recipe)
    yield from toolchain_problems(recipe)
    yield from option_problems(recipe)
    yield from image_problems(recipe)
    yield from verify_problems(recipe)
    yield from pool_problems(recipe)


def _problem(path: str, seen: str, wanted: str) -> Problem:
    return Problem(path=path, seen=seen, wanted=wanted)


def _source(where: str, source: Source) -> Iterator[Problem]:
    named = [key for key in ("git", "archive", "path") if getattr(source, key) is not None]
    if len(named) != 1:
        yield _problem(where, " and ".join(named) or "nothing", "exactly one of git, archive, path")
    if source.git is not None and not source.ref:
        yield _problem(f"{where}.ref", "nothing", "a tag, branch or commit: git is given")
    if source.git is None and source.ref is not None:
        yield _problem(f"{where}.ref", shown(source.ref), "no ref without git")
    if named and source.git is None and source.epoch is None:
        wanted = "seconds since 1970: an archive or a path has no commit to take the time from"
        yield _problem(f"{where}.epoch", "nothing", wanted)
    yield from _digest(where, source.archive, source.sha256)
    yield from source_problems(where, source)
    if source.series is not None:
        yield from _series(f"{where}.series", source.series)
    for index, overlay in enumerate(source.overlay):
        yield from _overlay(f"{where}.overlay[{index}]", overlay)
    for index, prepare in enumerate(source.prepare):
        yield from _inside(f"{where}.prepare[{index}].cwd", prepare.cwd, "the tree")


def _digest(where: str, archive: str | None, sha256: str | None) -> Iterator[Problem]:
    """A publisher's digest is read for ``debian:`` locators; any other archive needs one in the recipe."""
    if archive and sha256 is None and not archive.startswith("debian:"):
        yield _problem(f"{where}.sha256", "nothing", f"the digest of {archive}")
    if archive is None and sha256 is not None:
        yield _problem(f"{where}.sha256", shown(sha256), "no digest without an archive")
    if archive is not None:
        yield from address_problems(f"{where}.archive", archive)


def _series(where: str, series: Series) -> Iterator[Problem]:
    yield from _digest(where, series.archive, series.sha256)
    if series.archive is not None:
        yield from _inside(f"{where}.path", series.path, "the archive")


def _overlay(where: str, overlay: Overlay) -> Iterator[Problem]:
    if (overlay.archive is None) == (overlay.path is None):
        seen = "nothing" if overlay.archive is None else "archive and path"
        yield _problem(where, seen, "exactly one of archive, path")
    yield from _digest(where, overlay.archive, overlay.sha256)
    if overlay.path is not None and not overlay.path.startswith("/"):
        wanted = "an absolute directory of the builder image"
        yield _problem(f"{where}.path", shown(overlay.path), wanted)
    if overlay.path is not None and (overlay.only is not None or overlay.strip):
        yield _problem(where, "only or strip with path", "only and strip belong to archives")
    yield from _inside(f"{where}.to", overlay.to, "the tree")
    if overlay.only is not None:
        yield from _inside(f"{where}.only", overlay.only, "the archive")


def _inside(where: str, path: str, what: str) -> Iterator[Problem]:
    if leaves(path):
        yield _problem(where, shown(path), f"a directory inside {what}")


def _python(recipe: Recipe) -> Iterator[Problem]:
    python = recipe.python
    if python.source == "path" and (python.path is None or not python.path.startswith("/")):
        yield _problem("python.path", shown(python.path), 'an absolute path: from = "path"')
    if python.source != "path" and python.path is not None:
        yield _problem("python.path", shown(python.path), 'no path unless from = "path"')
    if python.version is None and recipe.image is not None and python.source == "system":
        wanted = "a version such as 3.13: the interpreter is the image's"
        yield _problem("python.version", "nothing", wanted)
    if python.version is None and python.source == "uv":
        yield _problem("python.version", "nothing", 'a version such as 3.13: from = "uv"')


def _builder(recipe: Recipe) -> Iterator[Problem]:
    for key in ("cmake", "ninja"):
        bounds = getattr(recipe.toolchain, key)
        try:
            SpecifierSet(bounds)
        except InvalidSpecifier:
            yield _problem(f"toolchain.{key}", shown(bounds), "bounds such as >=3.18,<4")
    if recipe.verify.level == "static" and recipe.verify.packages:
        yield _problem("verify.packages", shown(recipe.verify.packages), "none: level static runs nothing")
    if recipe.machine.executor == "container" and recipe.image is None:
        yield _problem("machine.executor", '"container"', "a recipe with an [image] table for that")


def _wheel(recipe: Recipe) -> Iterator[Problem]:
    wheel = recipe.wheel
    try:
        version = Version(wheel.version)
    except InvalidVersion:
        yield _problem("wheel.version", shown(wheel.version), "a PEP 440 version such as 2.6.0")
        return
    if version.local is not None:
        wanted = f"no local label here: set wheel.local = {shown(version.local)}"
        yield _problem("wheel.version", shown(wheel.version), wanted)
    elif str(version) != wheel.version:
        wanted = f"its canonical form {version}: the wheel's file is called that"
        yield _problem("wheel.version", shown(wheel.version), wanted)
    elif wheel.local is not None and Version(f"{version}+{wheel.local}").local != wheel.local:
        wanted = f"its canonical form {Version(f'{version}+{wheel.local}').local}"
        yield _problem("wheel.local", shown(wheel.local), wanted)


def _requirements(recipe: Recipe) -> Iterator[Problem]:
    lists = (
        ("build.requires", recipe.build.requires),
        ("wheel.requires", recipe.wheel.requires or ()),
        ("verify.packages", recipe.verify.packages),
    )
    for key, requirements in lists:
        for index, text in enumerate(requirements):
            try:
                addressed = Requirement(text).url is not None
            except InvalidRequirement:
                addressed = True
            if addressed:
                wanted = "a PEP 508 requirement without an address, such as numpy>=2,<3"
                yield _problem(f"{key}[{index}]", shown(text), wanted)
