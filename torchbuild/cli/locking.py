"""Asking the world what only the world can say, then making the lock."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from packaging.requirements import InvalidRequirement, Requirement

from torchbuild.cli.builder_image import image_to_lock
from torchbuild.cli.late_answers import locked_late_sources
from torchbuild.cli.local_files import LocalFiles
from torchbuild.cli.places import Places
from torchbuild.cli.recipe_files import public
from torchbuild.cli.source_answers import SourceAnswer, SourceReader
from torchbuild.cli.survey import survey_builder
from torchbuild.cli.toolchain_answers import locked_toolchain
from torchbuild.cli.toolchain_to_lock import (
    bundled_parts,
    interpreter_to_lock,
    refuse_early,
    weigh_tree,
    with_tree,
)
from torchbuild.context import Network
from torchbuild.edges.download import Downloader
from torchbuild.edges.git import GitEdge
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.store import DirectoryStore
from torchbuild.errors import RecipeError
from torchbuild.knowledge.publishers import publisher_addresses
from torchbuild.knowledge.tables import era_fact, era_of_backend
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import Lock, LockedSubmodule
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.asked import ask
from torchbuild.resolve.assemble import Answers, Survey, build_requirements, lock_of, verify_requirements
from torchbuild.resolve.compiler_caches import weigh_cache
from torchbuild.resolve.glibc import run_time_glibc
from torchbuild.resolve.late_sources import unlaid
from torchbuild.resolve.weighed import weigh_recipe
from torchbuild.toolchains.python_part import is_free_threaded

__all__ = ["World", "credentials", "front_end_of", "make_lock", "mirror_settings", "world"]

Tell = Callable[[str], None]
Era = Literal["setup-py", "scikit-build-core"]


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """The edges that locking and building share."""

    places: Places
    store: DirectoryStore
    git: GitEdge
    network: Network
    downloads: Downloader
    """What brings files for `network`."""
    mirrors: MirrorSettings
    recipe_dir: Path
    """The recipe's folder."""


def mirror_settings(recipe: Recipe) -> MirrorSettings:
    """Where this machine gets things."""
    machine = recipe.machine
    return MirrorSettings(
        index_url=machine.index_url,
        debian=machine.debian_mirror,
        prefixes=machine.mirrors,
        publishers=publisher_addresses(),
    )


def world(
    recipe: Recipe,
    places: Places,
    recipe_dir: Path,
    allowed: tuple[Path, ...] = (),
    *,
    paranoid: bool = False,
) -> World:
    """The edges for one recipe; files of the folders in `allowed` count as the recipe's own.

    With `paranoid` a stored file is read before it is used, and a damaged one is fetched again.
    """
    mirrors, store = mirror_settings(recipe), DirectoryStore(places.store, paranoid=paranoid)
    downloads = Downloader(store, places.cache, mirrors, recipe_dir)
    return World(
        places=places,
        store=store,
        git=GitEdge(places.cache, prefixes=credentials(recipe) | dict(mirrors.prefixes)),
        network=LocalFiles(downloads, store, recipe_dir, allowed),
        downloads=downloads,
        mirrors=mirrors,
        recipe_dir=recipe_dir,
    )


def credentials(recipe: Recipe) -> dict[str, str]:
    """The user and password of the recipe's address, for its host: submodules lie there too.

    Everything else sees the address without them; git gets them through its environment, which others cannot
    see, unlike its arguments.
    """
    address = urlsplit(recipe.source.git or "")
    if "@" not in address.netloc or address.scheme not in ("http", "https"):
        return {}
    host = address.netloc.rpartition("@")[2]
    return {f"{address.scheme}://{host}/": f"{address.scheme}://{address.netloc}/"}


def make_lock(recipe: Recipe, there: World, tell: Tell, *, despite: tuple[str, ...] = ()) -> Lock:
    """The lock. What is fetched on the way stays in the store: no collection takes it before it is named.

    Args:
        recipe: what is asked for.
        there: the edges.
        tell: hears a line a step.
        despite: conflicts of the facts, by reference, that the caller goes on in spite of.
    """
    for line in weigh_recipe(recipe, despite):
        tell(line)
    there.downloads.report_to(tell)
    with there.store.shared():
        return _make_lock(public(recipe), there, tell, despite)


def _make_lock(recipe: Recipe, there: World, tell: Tell, despite: tuple[str, ...]) -> Lock:
    refuse_early(recipe)
    tell("looking at the builder: " + (recipe.image.name if recipe.image else "this machine"))
    image, builder = image_to_lock(recipe, there, tell)
    managed, not_named = interpreter_to_lock(recipe, there, tell)
    survey = survey_builder(recipe, image, there.places, managed)
    for note in (*survey.notes, *weigh_cache(recipe, survey.launcher, survey.launcher_version, despite)):
        tell(note)
    source = recipe.source
    tell(f"reading the source: {source.git or source.archive or source.path}")
    answer = SourceReader(there).read(recipe)
    era, declared = front_end_of(answer)
    asks = weigh_tree(recipe, answer, survey.python.version, tell)
    resolve = _resolver(recipe, survey, there)
    found = locked_toolchain(
        recipe, there, lambda texts: resolve(texts, (), survey.glibc), tell, survey.toolkit
    )
    parts = (*([managed.part] if managed else []), *with_tree(found.parts, asks))
    asked = ask(recipe, era_fact(era), answer.tree, survey.compilers(), answer.epoch, parts=parts or None)
    late = locked_late_sources(recipe, answer, asked, there)
    tell("resolving requirements for Python " + survey.python.version)
    glibc = run_time_glibc(recipe.target.glibc, survey.glibc)
    run = resolve(recipe.wheel.requires or (), (), glibc)
    pins = tuple(f"{name}=={version}" for name, version in _pins(run))
    everything = resolve(verify_requirements(recipe), pins, glibc)
    kept = {item.sha256 for item in run}
    needed = build_requirements(recipe, era, declared, survey.python.tag)
    return lock_of(
        recipe,
        Answers(
            source=answer.source.model_copy(update={"late": late}),
            epoch=answer.epoch,
            era=era,
            image=image,
            builder=builder,
            tree=dict(answer.tree),
            parts=(*parts, *bundled_parts(recipe, answer, late)),
            unpinned=(
                *answer.unpinned,
                *not_named,
                *found.unpinned,
                *unlaid(asked.fetches, _laid(recipe, answer, late)),
            ),
            survey=survey,
            build_requires=resolve(needed, (), survey.glibc),
            run_requires=run,
            verify_requires=tuple(item for item in everything if item.sha256 not in kept),
        ),
        asked,
    )


def _laid(recipe: Recipe, answer: SourceAnswer, late: tuple[LockedSubmodule, ...]) -> set[str]:
    """Folders of the tree that are there before it is built."""
    modules = {module.path for module in (*answer.source.submodules, *late)}
    return modules | {overlay.to.rstrip("/") for overlay in recipe.source.overlay} | set(answer.brought)


def _pins(artifacts: tuple[Artifact, ...]) -> list[tuple[str, str]]:
    from packaging.utils import parse_wheel_filename  # noqa: PLC0415  with the only use

    parsed = [parse_wheel_filename(item.name) for item in artifacts]
    return [(str(name), str(version)) for name, version, _, _ in parsed]


Resolve = Callable[[tuple[str, ...], tuple[str, ...], str], tuple[Artifact, ...]]


def _resolver(recipe: Recipe, survey: Survey, there: World) -> Resolve:
    """Requirements and constraints to wheels for a glibc; what pip is told here is asked once for all."""

    @cache
    def authorities() -> str:
        from torchbuild.edges.package_index import machine_authorities  # noqa: PLC0415  as below

        return machine_authorities()

    def resolve(
        requirements: tuple[str, ...], constraints: tuple[str, ...], glibc: str
    ) -> tuple[Artifact, ...]:
        if not requirements:
            return ()
        from torchbuild.edges.requirements import resolve_requirements  # noqa: PLC0415  a made lock needs none

        return resolve_requirements(
            requirements,
            python_version=survey.python.version + ("t" if is_free_threaded(survey.python.soabi) else ""),
            machine=recipe.target.machine,
            glibc=glibc,
            constraints=constraints,
            index_url=there.mirrors.index_url,
            authorities=authorities,
        )

    return resolve


def front_end_of(answer: SourceAnswer) -> tuple[Era, tuple[str, ...]]:
    """The era, and the build requirements that the tree declares."""
    if not answer.has_front_end:
        raise RecipeError(
            "front-end-missing",
            "the tree has neither pyproject.toml nor setup.py",
            why="wanted one of them at its top, with all patches applied: it is what builds the wheel",
            fix="Correct the source; of an archive, source.strip says where the tree begins in it.",
        )
    system = _build_system(answer.pyproject)
    backend = str(system.get("build-backend", "setuptools.build_meta:__legacy__"))
    era = era_of_backend(backend)
    if era is None:
        raise RecipeError(
            "front-end-unknown",
            f"the tree builds with {backend}, which this version does not know",
            why="wanted setuptools or scikit-build-core",
            fix="Name a source whose pyproject.toml has one of these back ends.",
        )
    requires = system.get("requires", [])
    if not isinstance(requires, list):
        raise _unreadable(f"build-system.requires is {requires!r}; wanted a list of texts")
    return cast("Era", era), tuple(_valid(str(item)) for item in requires)


def _build_system(pyproject: bytes) -> dict[str, Any]:
    """The table ``build-system``; a tree without one is of the era before there was any."""
    try:
        system = tomllib.loads(pyproject.decode("utf-8")).get("build-system", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(str(error) or type(error).__name__) from error
    if not isinstance(system, dict):
        raise _unreadable(f"build-system is {system!r}; wanted a table")
    return system


def _unreadable(why: str) -> RecipeError:
    return RecipeError(
        "tree-pyproject-invalid",
        "the tree's pyproject.toml cannot be read",
        why=why,
        fix="Patch the file, or name another source.",
    )


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
