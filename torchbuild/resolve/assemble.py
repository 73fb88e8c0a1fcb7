"""Recipe + answers of the world -> lock."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Literal

from packaging.version import Version
from pydantic import Field

from torchbuild.knowledge.fact import overlay
from torchbuild.knowledge.tables import blas_fact, era_fact
from torchbuild.model.artifact import Artifact, ImageRef
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Expectation, Lock, LockedPython, LockedSource, LockedVerify, LockedWheel
from torchbuild.model.locked_image import LockedImage
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.asked import AskedTree, ask
from torchbuild.resolve.environment import wheel_version
from torchbuild.resolve.expectations import expectations
from torchbuild.resolve.flags import flags
from torchbuild.resolve.release_requirements import release_requirements
from torchbuild.toolchains import blas_environment

__all__ = ["Answers", "Survey", "build_requirements", "lock_of", "recipe_digest", "verify_requirements"]

_PATH = re.compile(r"""(?:(?<![\w/.:}~*+$-])|(?<=-[A-Za-z])|(?<=:)(?!//))(/[^\s:;,="'/][^\s:;,="']*)""")
"""An absolute path in a value: at its begin, behind a separator, or behind an option such as ``-I``."""


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
    compiler_c: str = ""
    """What the C compiler says it is."""
    launcher: str
    """The compiler cache, absolute; empty for none."""
    launcher_version: str = ""
    """What it says of its version."""
    toolkit: dict[str, str] = Field(default_factory=dict)
    """What was found of the builder's own CUDA toolkit, by name."""
    notes: tuple[str, ...] = ()
    """What a person should hear of the choice, a line each."""

    def compilers(self) -> dict[str, str]:
        """``CC``, ``CXX`` and ``LAUNCHER``."""
        return {"CC": self.cc, "CXX": self.cxx, "LAUNCHER": self.launcher}


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
    builder: LockedImage | None = None
    """What the builder image is made of."""
    parts: tuple[LockedPart, ...] = ()
    """Toolkit and libraries, exactly."""
    unpinned: tuple[str, ...] = ()
    """What nobody answers for, each in a sentence."""
    tree: dict[str, str] = Field(default_factory=dict)
    """CMake files of the tree as it will be built, and its pyproject.toml: text by path."""


def recipe_digest(recipe: Recipe) -> str:
    """Digest of all that decides the wheel; the ``[machine]`` table does not.

    What stands at its default is left out, so that a key that a later version adds makes no lock stale.
    """
    value = recipe.model_dump(mode="json", by_alias=True, exclude={"machine"}, exclude_defaults=True)
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def build_requirements(
    recipe: Recipe, era: str, declared: tuple[str, ...], python_tag: str = ""
) -> tuple[str, ...]:
    """What the build environment is asked for: era, release, tree, bounds and recipe together."""
    release = release_requirements(recipe, python_tag) if python_tag else ()
    bounds = ("pip", f"cmake{recipe.toolchain.cmake}", f"ninja{recipe.toolchain.ninja}")
    return tuple(sorted({*bounds, *era_fact(era).requires, *release, *declared, *recipe.build.requires}))


def verify_requirements(recipe: Recipe) -> tuple[str, ...]:
    """What the verify environment is asked for besides the wheel."""
    return tuple(sorted({*(recipe.wheel.requires or ()), *recipe.verify.packages}))


def lock_of(recipe: Recipe, answers: Answers, asked: AskedTree | None = None) -> Lock:
    """The lock. Deterministic: the same recipe and answers give the same lock.

    Args:
        recipe: what is wanted.
        answers: what the world said.
        asked: what the tree of the answers says to the recipe, where that is known already.
    """
    survey = answers.survey
    if asked is None:
        compilers = survey.compilers()
        asked = ask(
            recipe, era_fact(answers.era), answers.tree, compilers, answers.epoch, parts=answers.parts or None
        )
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
            "builder": answers.builder,
            "python": survey.python,
            "cc": survey.cc,
            "cxx": survey.cxx,
            "compiler": survey.compiler,
            "compiler_c": survey.compiler_c or None,
            "compiler_cache": survey.launcher or "none",
            "gpu_archs": recipe.cuda.archs if recipe.cuda is not None else (),
            "parts": answers.parts,
            "environ": asked.environ,
            "defines": asked.defines,
            "expect": _expected(recipe, answers, asked),
            "build_requires": answers.build_requires,
            "run_requires": answers.run_requires,
            "verify_requires": answers.verify_requires,
            "wheel": _wheel(recipe),
            "verify": _verify(recipe),
            "unpinned": (*_unpinned(recipe), *answers.unpinned),
            "facts": overlay().changes,
        }
    )


def _expected(recipe: Recipe, answers: Answers, asked: AskedTree) -> tuple[Expectation, ...]:
    """What must come of what the build is told; what the recipe decides counts before what the tree does."""
    survey, era = answers.survey, era_fact(answers.era)
    expect = expectations(
        recipe,
        survey.python,
        survey.compilers(),
        era.renames,
        declared=asked.declared,
        front_end_only=era.front_end_only,
        parts=answers.parts or None,
    )
    named = {item.key for item in expect}
    further = asked.tree.expect(asked.cache, flags(recipe, asked.declared))
    rows = (
        *map(asked.strict, expect),
        *(_with_benign(item, recipe) for item in further if item.key not in named),
    )
    return tuple(sorted(rows, key=lambda item: (item.key, item.reference)))


def _with_benign(row: Expectation, recipe: Recipe) -> Expectation:
    """What a library's own search leaves behind is no feature that is missing."""
    own = blas_environment.benign(recipe) if row.kind == "found" else ()
    return row.model_copy(update={"value": "|".join((row.value, *own))}) if own else row


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
    settings |= blas_environment.settings(recipe)
    return LockedVerify(
        level=recipe.verify.level,
        require=() if recipe.verify.level == "static" else tuple(recipe.verify.require),
        settings=dict(sorted(settings.items())),
    )


def _unpinned(recipe: Recipe) -> tuple[str, ...]:
    """What is this machine's own, whatever it holds: an image would pin it."""
    if recipe.image is not None:
        return ()
    overlays = (
        f"source.overlay[{index}]: {overlay.path} is a directory of this machine: the recipe names no image"
        for index, overlay in enumerate(recipe.source.overlay)
        if overlay.path is not None
    )
    return (
        "the compilers and system libraries of this machine: the recipe names no image",
        *overlays,
        *_named_paths(recipe),
    )


def _named_paths(recipe: Recipe) -> Iterator[str]:
    """Places of this machine that the recipe's own variables lead to."""
    build = recipe.build
    for table, rows in (("flags", build.flags), ("cmake", build.cmake), ("env", build.env)):
        for name, value in rows.items():
            found = dict.fromkeys(_PATH.findall(str(value)))
            outside = [path for path in found if not f"{path}/".startswith(f"{BUILD_ROOT}/")]
            if outside:
                where = f"build.{table}.{name}: {', '.join(outside)}"
                yield f"{where}: of this machine, whatever it holds: the recipe names no image"
