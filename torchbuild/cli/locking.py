"""Asking the world what only the world can say, then making the lock."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from torchbuild.cli.places import Places
from torchbuild.cli.source_answers import SourceAnswer, SourceReader
from torchbuild.cli.survey import find_image, survey_builder
from torchbuild.edges.download import Downloader
from torchbuild.edges.git import GitEdge
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.requirements import resolve_requirements
from torchbuild.edges.store import DirectoryStore
from torchbuild.errors import RecipeError
from torchbuild.knowledge.tables import era_of_backend
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import Answers, Survey, build_requirements, lock_of, verify_requirements

__all__ = ["World", "make_lock", "mirror_settings", "world"]

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """The edges that locking and building share."""

    places: Places
    store: DirectoryStore
    git: GitEdge
    network: Downloader
    mirrors: MirrorSettings
    recipe_dir: Path


def mirror_settings(recipe: Recipe) -> MirrorSettings:
    """Where this machine gets things."""
    machine = recipe.machine
    return MirrorSettings(index_url=machine.index_url, debian=machine.debian_mirror, prefixes=machine.mirrors)


def world(recipe: Recipe, places: Places, recipe_dir: Path) -> World:
    """The edges for one recipe."""
    mirrors, store = mirror_settings(recipe), DirectoryStore(places.store)
    return World(
        places=places,
        store=store,
        git=GitEdge(places.cache, prefixes=dict(mirrors.prefixes)),
        network=Downloader(store, places.cache, mirrors, recipe_dir),
        mirrors=mirrors,
        recipe_dir=recipe_dir,
    )


def make_lock(recipe: Recipe, there: World, tell: Tell) -> Lock:
    """The lock. What is fetched on the way stays in the store."""
    tell("looking at the builder")
    image = find_image(recipe)
    survey = survey_builder(recipe, image, there.places)
    tell("reading the source")
    answer = SourceReader(there).read(recipe)
    era, declared = front_end_of(answer)
    tell("resolving requirements")
    resolve = _resolver(recipe, survey, there)
    run = resolve(recipe.wheel.requires or (), ())
    pins = tuple(f"{name}=={version}" for name, version in _pins(run))
    everything = resolve(verify_requirements(recipe), pins)
    kept = {item.sha256 for item in run}
    return lock_of(
        recipe,
        Answers.model_validate(
            {
                "source": answer.source,
                "epoch": answer.epoch,
                "era": era,
                "image": image,
                "survey": survey,
                "build_requires": resolve(build_requirements(recipe, era, declared), ()),
                "run_requires": run,
                "verify_requires": tuple(item for item in everything if item.sha256 not in kept),
            }
        ),
    )


def _pins(artifacts: tuple[Artifact, ...]) -> list[tuple[str, str]]:
    from packaging.utils import parse_wheel_filename  # noqa: PLC0415  with the only use

    parsed = [parse_wheel_filename(item.name) for item in artifacts]
    return [(str(name), str(version)) for name, version, _, _ in parsed]


Resolve = Callable[[tuple[str, ...], tuple[str, ...]], tuple[Artifact, ...]]


def _resolver(recipe: Recipe, survey: Survey, there: World) -> Resolve:
    def resolve(requirements: tuple[str, ...], constraints: tuple[str, ...]) -> tuple[Artifact, ...]:
        if not requirements:
            return ()
        return resolve_requirements(
            requirements,
            python_version=survey.python.version,
            machine=recipe.target.machine,
            glibc=survey.glibc,
            constraints=constraints,
            index_url=there.mirrors.index_url,
        )

    return resolve


def front_end_of(answer: SourceAnswer) -> tuple[str, tuple[str, ...]]:
    """The era, and the build requirements that the tree declares."""
    try:
        table: dict[str, Any] = tomllib.loads(answer.pyproject.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RecipeError(
            "tree-pyproject-invalid",
            "the tree's pyproject.toml cannot be read",
            why=str(error),
            fix="Patch the file, or name another source.",
        ) from error
    system = table.get("build-system", {})
    backend = str(system.get("build-backend", "setuptools.build_meta:__legacy__"))
    era = era_of_backend(backend)
    if era is None:
        raise RecipeError(
            "front-end-unknown",
            f"the tree builds with {backend}, which this version does not know",
            why="wanted setuptools or scikit-build-core",
            fix="Name a source whose pyproject.toml has one of these back ends.",
        )
    return era, tuple(_valid(str(item)) for item in system.get("requires", ()))


def _valid(requirement: str) -> str:
    try:
        return str(Requirement(requirement))
    except InvalidRequirement as error:
        raise RecipeError(
            "tree-requirement-invalid",
            f"the tree's pyproject.toml requires {requirement!r}",
            why=str(error),
            fix="Patch build-system.requires of the tree.",
        ) from error
