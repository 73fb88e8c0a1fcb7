"""What a tree would fetch in the middle of its build, found out at lock time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from torchbuild.errors import ConflictError
from torchbuild.knowledge.fact import table_cache
from torchbuild.knowledge.tables import LateFact, late_facts
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.cmake_commands import Fetch
from torchbuild.resolve.cmake_condition import holds
from torchbuild.resolve.cmake_scope import CacheEntry, Scope
from torchbuild.resolve.cmake_script import SOURCE

__all__ = ["LateSource", "is_pin", "late_sources", "unlaid"]

_PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}")
_PLACE = re.compile(r"\\\{\w+\\\}")


@dataclass(frozen=True, slots=True)
class LateSource:
    """One thing to fetch before the build instead of in it."""

    name: str
    """What it is called."""
    url: str
    """Of its repository."""
    ref: str
    """Tag or commit, as the tree pins it."""
    to: str
    """Where in the tree."""


def is_pin(path: str) -> bool:
    """Whether a file of a tree may say which version it fetches."""
    return _pins_pattern().fullmatch(path) is not None


@table_cache
def _pins_pattern() -> re.Pattern[str]:
    """Once for all the files of a tree, which are tens of thousands."""
    pins = (re.escape(pin) for fact in late_facts() for pin in fact.pins)
    return re.compile("|".join(_PLACE.sub("[0-9]+", pin) for pin in pins))


def late_sources(
    recipe: Recipe, files: Mapping[str, str], cache: Mapping[str, CacheEntry], there: Collection[str]
) -> Iterator[LateSource]:
    """What this build would fetch.

    Args:
        recipe: release, CUDA, and what the recipe itself lays where the tree looks.
        files: text of the tree's files, its pins among them.
        cache: the options that the tree will have.
        there: folders that the tree brings along: submodules, and those of an archive that holds all.

    Raises:
        ConflictError: ``late-source-unpinned``, ``late-source-pin-invalid``.
    """
    laid = {overlay.to.rstrip("/") for overlay in recipe.source.overlay} | set(there)
    for fact in late_facts():
        is_wanted = fact.is_for(recipe.wheel.package, recipe.wheel.version) and fact.to not in laid
        if not is_wanted or (fact.when and holds(fact.when, Scope(dict(cache), {})) is False):
            continue
        pin = next((path for path in _pins(fact, recipe) if path in files), None)
        if pin is not None:
            yield LateSource(fact.name, fact.repository, _ref(files[pin], pin), fact.to)
        elif fact.is_required:
            raise _unpinned(fact, recipe)


def unlaid(fetches: Iterable[Fetch], laid: Collection[str], source: str = SOURCE) -> Iterator[str]:
    """What a tree may fetch while it is built and nobody lays before: a sentence each. Nothing will come.

    Args:
        fetches: what its CMake files tell.
        laid: folders of the tree that are filled before.
        source: the tree's own place in a build.
    """
    for fetch in fetches:
        if fetch.into.removeprefix(f"{source}/").rstrip("/") not in laid:
            what = fetch.url or "something that only CMake can name"
            yield f"{what}, which {fetch.where} may fetch while the tree is built: it will get nothing"


def _pins(fact: LateFact, recipe: Recipe) -> Iterator[str]:
    version = recipe.cuda.version if recipe.cuda is not None else ""
    parts = version.split(".")
    for pin in fact.pins:
        if "{" not in pin:
            yield pin
        elif version:
            yield pin.replace("{cuda_major}", parts[0]).replace("{cuda}", "".join(parts[:2]))


def _ref(text: str, pin: str) -> str:
    ref = text.strip()
    if _PIN.fullmatch(ref) and ".." not in ref:
        return ref
    raise ConflictError(
        "late-source-pin-invalid",
        f"the tree's {pin} is no tag and no commit",
        why=(f"seen {ref[:80]!a}", "wanted one word"),
        fix=f"Patch {pin}, or lay what it pins with a [[source.overlay]].",
    )


def _unpinned(fact: LateFact, recipe: Recipe) -> ConflictError:
    return ConflictError(
        "late-source-unpinned",
        f"the tree fetches {fact.name} while it builds, and does not say which",
        why=(
            f"seen none of {', '.join(_pins(fact, recipe))}: release archives leave them out",
            f"wanted a pin, or {fact.to} in the tree",
            f"source: {fact.source}",
        ),
        fix=f"Name the git repository as the source, or lay {fact.name} at {fact.to} as an overlay.",
    )
