"""The interpreter that the wheel is for: whether it starts, is the one that is meant, and has its headers."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from torchbuild.knowledge.requirements import numpy_fact, numpy_requirement
from torchbuild.model.host import Interpreter
from torchbuild.model.recipe import Recipe
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, not_run, passed, warned

__all__ = ["interpreter", "numpy"]

_MOST = 5
_RECIPE = "recipe"
"""How `Host.interpreters` marks the one that a recipe names."""


def interpreter(case: Case) -> Iterator[Preflight]:
    """The recipe's interpreter, where it is this machine's; without a recipe, the one of the environment."""
    recipe = case.recipe
    if recipe is not None and recipe.python.source == "uv":
        yield not_run("interpreter-of-recipe", f"Python {recipe.python.version}: it comes by digest, with uv")
        return
    if recipe is not None and not case.builds_here:
        yield not_run(
            "interpreter-of-recipe",
            "the interpreter: it is the builder image's, which `torchbuild lock` looks at",
        )
        return
    found = _chosen(case)
    if found is None or not found.path.startswith("/"):
        yield _missing(case)
        return
    what = f"Python at {found.path}"
    if not found.version:
        yield _does_not_start(found, what, is_wanted=recipe is not None)
        return
    yield from _version(recipe, found, what)
    yield from _headers(recipe, found, what)
    yield from _configuration(found, what)


def _chosen(case: Case) -> Interpreter | None:
    """The one that a lock would take: the recipe's, else the first of its version that starts."""
    everything = case.host.interpreters
    wished = [item for item in everything if item.found_by == _RECIPE]
    named = next((item for item in wished if item.version), wished[0] if wished else None)
    if case.recipe is None:
        active = next((item for item in everything if item.found_by == "VIRTUAL_ENV"), None)
        return active or (everything[0] if everything else None)
    if named is not None or case.recipe.python.source == "path":
        return named or next((item for item in everything if item.path == case.recipe.python.path), None)
    wanted = case.recipe.python.version
    fitting = [item for item in everything if wanted is None or _is_version(item.version, wanted)]
    return fitting[0] if fitting else None


def _is_version(version: str, wanted: str) -> bool:
    numbers = wanted.removesuffix("t").split(".")
    return version.split(".")[: len(numbers)] == numbers


def _missing(case: Case) -> Preflight:
    unseen = case.is_unseen("interpreter")
    if unseen and not case.host.interpreters:
        return not_run("interpreter-of-recipe", f"the interpreter: {unseen}")
    python = case.recipe.python if case.recipe is not None else None
    wanted = (python.path or f"Python {python.version}") if python is not None else "a Python"
    others = (item for item in case.host.interpreters if item.path.startswith("/"))
    there = ", ".join(f"{item.path} ({item.version or 'does not start'})" for item in others)
    return failed(
        "interpreter-of-recipe",
        "the interpreter is not on this machine",
        seen=there or "none",
        wanted=wanted,
        fix='Install it, or set python.from = "uv", which brings one.',
    )


def _does_not_start(found: Interpreter, what: str, *, is_wanted: bool) -> Preflight:
    """What hangs, crashes or is no Python; of a virtual environment, often the base that moved or is gone."""
    say = failed if is_wanted else warned
    return say(
        "interpreter-of-recipe",
        f"{what} does not start",
        seen=found.why or "it says nothing",
        wanted="an interpreter that starts; a virtual environment needs the one that it was made with",
        fix="Make the virtual environment anew, or name another interpreter in python.path.",
    )


def _version(recipe: Recipe | None, found: Interpreter, what: str) -> Iterator[Preflight]:
    wanted = recipe.python.version if recipe is not None else None
    if recipe is not None and found.machine and found.machine != recipe.target.machine:
        yield failed(
            "interpreter-of-recipe",
            f"{what} is for another processor family",
            seen=found.machine,
            wanted=recipe.target.machine,
            fix="Name an interpreter of the target's family.",
        )
    elif wanted is not None and wanted.endswith("t") != found.is_free_threaded:
        yield failed(
            "interpreter-of-recipe",
            f"{what} is another ABI",
            seen="without the global lock" if found.is_free_threaded else "with the global lock",
            wanted=f"Python {wanted}",
            fix="Correct python.version, or name another interpreter.",
            blames="recipe",
        )
    elif wanted is not None and not _is_version(found.version, wanted):
        yield failed(
            "interpreter-of-recipe",
            f"{what} is another release",
            seen=found.version,
            wanted=f"Python {wanted}",
            fix="Correct python.version, or name another interpreter.",
            blames="recipe",
        )
    else:
        yield passed("interpreter-of-recipe", what, seen=found.version, wanted=wanted or "")


def _headers(recipe: Recipe | None, found: Interpreter, what: str) -> Iterator[Preflight]:
    """CMake takes no interpreter without its headers; a virtual environment has none of its own."""
    if found.include:
        yield passed("interpreter-headers", f"Python.h of {what}", seen=found.include)
        return
    base = f" of {found.base}" if found.is_venv else ""
    seen, wanted = f"no Python.h where {found.base or found.path} says", f"the headers{base}"
    fix = 'Install its development package (python3-dev, python3-devel), or take python.from = "uv".'
    told = f"Python.h of {what}: CMake would not take it"
    if recipe is None:
        yield warned("interpreter-headers", told, seen=seen, wanted=wanted, fix=fix)
    else:
        yield failed("interpreter-headers", told, seen=seen, wanted=wanted, fix=fix)


def _configuration(found: Interpreter, what: str) -> Iterator[Preflight]:
    """What its own configuration hands to everything that is built for it."""
    if found.gone:
        yield warned(
            "interpreter-configuration",
            f"{what} hands directories of another machine to what is built for it",
            seen=", ".join(found.gone[:_MOST]),
            wanted="directories that exist",
            fix='Take python.from = "uv", where they are corrected, or an interpreter of the distribution.',
        )
    if found.is_free_threaded and not found.is_shared:
        yield warned(
            "interpreter-configuration",
            f"{what} has no global lock and no shared library: a module that links its library fails",
            seen="a static library alone",
            wanted="a shared one, or modules that link none",
            fix="Take an interpreter that was configured with --enable-shared.",
        )
    if len(found.nccls) > 1:
        yield warned(
            "interpreter-two-nccl",
            f"{what} has two distributions of NCCL: they lay one file over the other",
            seen=", ".join(found.nccls),
            wanted="one of them",
            fix="Remove the one that is not for your CUDA; builds here have an environment of their own.",
        )


def numpy(case: Case) -> Iterator[Preflight]:
    """The NumPy that the wheel is made against, and the one that an environment brings instead."""
    recipe = case.recipe
    if recipe is None:
        yield from _numpy_of_environment(case)
        return
    if recipe.wheel.package != "torch" or _is_off(recipe.build.flags.get("USE_NUMPY", True)):
        return
    fact, release = numpy_fact(recipe.wheel.version), recipe.wheel.version
    if fact is None:
        yield not_run("numpy-for-torch", f"NumPy for torch {release}: nothing is known of this release")
        return
    asked = _asked_numpy(recipe)
    wanted = numpy_requirement(release, f"cp{(recipe.python.version or '').replace('.', '')}")
    if asked is not None and not _allows(asked, fact.abi):
        yield warned(
            "numpy-for-torch",
            f"build.requires asks for {asked}: a wheel made against it does not work with NumPy {fact.abi}",
            seen=str(asked),
            wanted=f"{wanted} ({fact.source})",
            fix="Leave NumPy out of build.requires: the right one is added.",
            blames="recipe",
        )
        return
    yield from _numpy_of_interpreter(case, fact.abi, wanted, fact.source)


def _numpy_of_interpreter(case: Case, abi: int, wanted: str, source: str) -> Iterator[Preflight]:
    """What an environment holds is not used: the build has one of its own, by digest. Whoever builds by hand
    with it gets a torch without NumPy, or for the other one, and no error.
    """
    found = _chosen(case) if case.builds_here else None
    what = f"NumPy for torch: the build brings its own {wanted}, by digest"
    if found is None or not found.is_venv or not found.version:
        yield passed("numpy-for-torch", what, wanted=f"{wanted} ({source})")
    elif _major(found.numpy) != abi:
        yield warned(
            "numpy-for-torch",
            f"{what}; the virtual environment {found.path} has {'another' if found.numpy else 'none'}",
            seen=found.numpy or "no NumPy",
            wanted=f"{wanted} ({source})",
            fix="Build with torchbuild, and not in that environment by hand; or install this NumPy there.",
        )
    else:
        yield passed("numpy-for-torch", what, seen=found.numpy, wanted=f"{wanted} ({source})")


def _numpy_of_environment(case: Case) -> Iterator[Preflight]:
    found = next((item for item in case.host.interpreters if item.found_by == "VIRTUAL_ENV"), None)
    if found is None or not found.version:
        return
    what = f"NumPy of the virtual environment {found.path}"
    if found.numpy:
        yield passed("numpy-for-torch", what, seen=found.numpy)
    else:
        yield warned(
            "numpy-for-torch",
            f"{what}: a torch that is built in it by hand is one without NumPy",
            seen="no NumPy",
            wanted="NumPy",
            fix="Build with torchbuild, which brings its own, or install NumPy there.",
        )


def _is_off(value: object) -> bool:
    return str(value).upper() in ("0", "OFF", "FALSE", "NO", "N")


def _asked_numpy(recipe: Recipe) -> Requirement | None:
    for text in recipe.build.requires:
        try:
            found = Requirement(text)
        except InvalidRequirement:  # told with the recipe's problems
            continue
        if found.name.lower() == "numpy":
            return found
    return None


def _allows(asked: Requirement, abi: int) -> bool:
    """Whether some release of that major version would do; one of each line stands for all."""
    return any(
        asked.specifier.contains(f"{abi}.{minor}.{patch}") for minor in range(40) for patch in range(9)
    )


def _major(version: str) -> int | None:
    try:
        return Version(version).major if version else None
    except InvalidVersion:
        return None
