"""Recipe + answers of the world -> lock."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from packaging.version import Version

from torchbuild.knowledge.tables import blas_fact, era_fact
from torchbuild.model.artifact import Artifact, ImageRef
from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Lock, LockedPython, LockedSource, LockedVerify, LockedWheel
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.environment import build_environment, extra_defines, wheel_version
from torchbuild.resolve.expectations import expectations

__all__ = ["Answers", "Survey", "build_requirements", "lock_of", "recipe_digest", "verify_requirements"]


class Survey(Frozen):
    """The builder as it was found: an image, or this machine."""

    python: LockedPython
    """The interpreter."""
    glibc: str
    """The C library's version."""
    cc: str
    """Host C compiler, absolute."""
    cxx: str
    """Host C++ compiler, absolute."""
    compiler: str
    """What the C++ compiler says it is."""
    launcher: str
    """The compiler cache, absolute; empty for none."""


class Answers(Frozen):
    """What only the world can say."""

    source: LockedSource
    """The tree, exactly."""
    epoch: int
    """Time of the source, seconds since 1970."""
    era: Literal["setup-py", "scikit-build-core"]
    """The tree's front end."""
    image: ImageRef | None
    """The builder."""
    survey: Survey
    """What is in it."""
    build_requires: tuple[Artifact, ...]
    """The build environment."""
    run_requires: tuple[Artifact, ...]
    """The wheel's run-time requirements."""
    verify_requires: tuple[Artifact, ...]
    """Further packages of the verify environment."""


def recipe_digest(recipe: Recipe) -> str:
    """Digest of all that decides the wheel; the ``[machine]`` table does not.

    What stands at its default is left out, so that a key that a later version adds makes no lock stale.
    """
    value = recipe.model_dump(mode="json", by_alias=True, exclude={"machine"}, exclude_defaults=True)
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def build_requirements(recipe: Recipe, era: str, declared: tuple[str, ...]) -> tuple[str, ...]:
    """What the build environment is asked for: era, tree, bounds and recipe together."""
    bounds = ("pip", f"cmake{recipe.toolchain.cmake}", f"ninja{recipe.toolchain.ninja}")
    return tuple(sorted({*bounds, *era_fact(era).requires, *declared, *recipe.build.requires}))


def verify_requirements(recipe: Recipe) -> tuple[str, ...]:
    """What the verify environment is asked for besides the wheel."""
    return tuple(sorted({*(recipe.wheel.requires or ()), *recipe.verify.packages}))


def lock_of(recipe: Recipe, answers: Answers) -> Lock:
    """The lock. Deterministic: the same recipe and answers give the same lock."""
    survey, era = answers.survey, era_fact(answers.era)
    compilers = {"CC": survey.cc, "CXX": survey.cxx, "LAUNCHER": survey.launcher}
    return Lock.model_validate(
        {
            "schema": 1,
            "name": recipe.name,
            "recipe": recipe_digest(recipe),
            "machine": recipe.target.machine,
            "glibc": recipe.target.glibc or survey.glibc,
            "epoch": answers.epoch,
            "era": answers.era,
            "source": answers.source,
            "image": answers.image,
            "python": survey.python,
            "cc": survey.cc,
            "cxx": survey.cxx,
            "compiler": survey.compiler,
            "compiler_cache": survey.launcher or "none",
            "environ": build_environment(recipe, era, compilers),
            "defines": extra_defines(recipe, era),
            "expect": expectations(recipe, survey.python, compilers, era.renames),
            "build_requires": answers.build_requires,
            "run_requires": answers.run_requires,
            "verify_requires": answers.verify_requires,
            "wheel": _wheel(recipe),
            "verify": _verify(recipe),
            "unpinned": _unpinned(recipe),
        }
    )


def _wheel(recipe: Recipe) -> LockedWheel:
    wheel = recipe.wheel
    return LockedWheel(
        package=wheel.package,
        version=wheel_version(recipe),
        public_version=wheel.version,
        build_number=wheel.build_number,
        requires=None if wheel.requires is None else tuple(sorted(wheel.requires)),
        system_libraries=tuple(sorted(wheel.system_libraries)),
        runtime=wheel.runtime,
    )


def _verify(recipe: Recipe) -> LockedVerify:
    # CMake knows the numbers of the release and nothing behind them
    release = ".".join(str(number) for number in Version(recipe.wheel.version).release)
    settings = {"TORCH_VERSION": release, "BUILD_TYPE": recipe.build.type}
    if recipe.blas is not None:
        settings |= blas_fact(recipe.blas.provider).settings
    return LockedVerify(
        level=recipe.verify.level,
        require=tuple(recipe.verify.require),
        settings=dict(sorted(settings.items())),
    )


def _unpinned(recipe: Recipe) -> tuple[str, ...]:
    if recipe.image is None:
        return ("the compilers and system libraries of this machine: the recipe names no image",)
    return ()
