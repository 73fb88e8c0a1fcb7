"""One artifact into the store: its candidates in turn, its part of a file, its lock."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from filelock import FileLock

from torchbuild.edges.apt_sources import debian_mirror
from torchbuild.edges.atomic import translated
from torchbuild.edges.locators import (
    MirrorSettings,
    debian_paths,
    debian_pool_path,
    mirrored,
    split_debian,
    split_pypi,
    web_candidates,
    without_credentials,
)
from torchbuild.edges.package_index import PackageIndex
from torchbuild.edges.web import Wanted, Web, forget
from torchbuild.edges.web_session import is_unconnected
from torchbuild.errors import FetchError, RecipeError
from torchbuild.model.artifact import locator_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchbuild.context import Store
    from torchbuild.model.artifact import Artifact

__all__ = ["Places", "bring"]

_NEXT = {"not-found", "not-reachable", "access-refused", "tls-failed", "not-on-index"}


@dataclass(frozen=True)
class Places:
    """Where files come from and go to, on this machine."""

    store: Store
    """Whole files."""
    partial: Path
    """Parts of files, named by the digest of the whole."""
    recipe_dir: Path
    """What ``file:`` locators are relative to."""
    mirrors: MirrorSettings
    """Where this machine gets things."""
    web: Web
    """HTTP."""
    tell: Callable[[str], None] = field(default=lambda _text: None)
    """Hears in one line where an address is passed over and the next one is asked."""
    unconnected: dict[str, FetchError] = field(default_factory=dict)
    """Hosts that took no connection, and how each said so: they are not asked again while others are left."""

    @cached_property
    def index(self) -> PackageIndex:
        """The Python package index, asked for once."""
        return PackageIndex(self.web, self.mirrors.index_url)


def bring(places: Places, artifact: Artifact, on_bytes: Callable[[int], None]) -> None:
    """Make sure that the store holds `artifact`.

    Raises:
        RecipeError, FetchError, HostError: as `torchbuild.edges.download.Downloader.fetch` says.
    """
    if locator_kind(artifact.locator) == "file":
        places.store.add(_recipe_file(places.recipe_dir, artifact.locator), artifact.sha256)
        return
    partial = places.partial / artifact.sha256
    with FileLock(f"{partial}.lock"):
        if places.store.get(artifact.sha256) is None:
            _from_candidates(places, artifact, partial, on_bytes)


def _recipe_file(recipe_dir: Path, locator: str) -> Path:
    top = recipe_dir.resolve()
    path = (top / locator.removeprefix("file:")).resolve()
    if not path.is_relative_to(top):
        raise RecipeError(
            "file-outside-recipe",
            f"{locator}: lies outside of the recipe's folder",
            why=(f"wanted: a path below {top}, links followed",),
            fix="Move the file into the recipe's folder.",
        )
    if not path.is_file():
        raise RecipeError(
            "recipe-file-missing",
            f"{locator}: no such file in the recipe's folder",
            why=(f"seen: nothing at {path}",),
            fix="Add the file there, or correct the recipe.",
        )
    return path


def candidates(places: Places, locator: str) -> tuple[str, ...]:
    """Addresses to try for a locator, in order.

    Raises:
        RecipeError, FetchError, HostError: as `torchbuild.edges.download.Downloader.fetch` says.
    """
    prefixes = places.mirrors.prefixes
    if locator_kind(locator) == "pypi":
        found = places.index.find(*split_pypi(locator))
        return mirrored(found.url, prefixes)
    if locator_kind(locator) == "debian":
        base = debian_mirror(places.mirrors.debian)
        return tuple(url for path in _debian_paths(locator) for url in mirrored(f"{base}/{path}", prefixes))
    return web_candidates(locator, places.mirrors)


def _debian_paths(locator: str) -> tuple[str, ...]:
    packed = debian_pool_path(locator)
    if packed is not None:
        return (packed,)
    _, source, file = split_debian(locator)
    return debian_paths(source, file)


def _from_candidates(
    places: Places, artifact: Artifact, partial: Path, on_bytes: Callable[[int], None]
) -> None:
    """The first candidate that gives the bytes; a wrong file is never passed over in silence."""
    failure: FetchError | None = None
    left = list(candidates(places, artifact.locator))
    while left:
        url = left.pop(0)
        try:
            _from_next(places, artifact, Wanted(url, artifact.size, on_bytes), partial, left)
        except FetchError as error:
            if error.reference not in _NEXT:
                raise
            # What a place has but could not give says more than that another never had it.
            if failure is None or (failure.reference == "not-found" and error.reference != "not-found"):
                failure = error
        else:
            return
    if failure is not None:
        raise failure


def _from_next(
    places: Places, artifact: Artifact, wanted: Wanted, partial: Path, left: Sequence[str]
) -> None:
    """From this address; what comes of it decides how others of its host are asked."""
    host, known = urlsplit(wanted.url).netloc, places.unconnected
    others = [url for url in left if urlsplit(url).netloc not in {host, *known}]
    if host in known and others:
        raise _not_asked(wanted.url, known[host])
    try:
        _from_one(places, artifact, wanted, partial, is_hurried=host in known or bool(others))
    except FetchError as error:
        is_new = is_unconnected(error.__cause__) and known.setdefault(host, error) is error
        if others and error.reference in _NEXT and error.reference != "not-found":
            again = f"; {host} is not asked again in this run" if is_new else ""
            places.tell(f"{error.what}; asking {without_credentials(others[0])} instead{again}")
        raise
    known.pop(host, None)


def _not_asked(url: str, before: FetchError) -> FetchError:
    return FetchError(
        "not-reachable",
        f"{without_credentials(url)}: not asked, its host took no connection before",
        why=(before.what, *before.why),
        fix=before.fix,
    )


def _from_one(places: Places, artifact: Artifact, wanted: Wanted, partial: Path, *, is_hurried: bool) -> None:
    resumed = partial.exists() and partial.stat().st_size > 0
    _transfer(places.web, wanted, partial, is_hurried=is_hurried)
    try:
        _keep(places.store, partial, artifact.sha256, wanted.url)
    except FetchError:
        if not resumed:
            raise
        # The first part may have come from another version of the file: once more, all from here.
        _transfer(places.web, wanted, partial, is_hurried=is_hurried)
        _keep(places.store, partial, artifact.sha256, wanted.url)


def _keep(store: Store, partial: Path, sha256: str, url: str) -> None:
    """Into the store; gone from the parts unless this machine could not take it."""
    try:
        store.add(partial, sha256)
    except FetchError as error:
        forget(partial)
        raise FetchError(
            "digest-mismatch",
            f"{without_credentials(url)}: not the bytes that were locked",
            why=error.why,
            fix="Find out why the file changed there before anything else; only then torchbuild lock again.",
        ) from error
    forget(partial)


def _transfer(web: Web, wanted: Wanted, partial: Path, *, is_hurried: bool) -> None:
    if not wanted.url.startswith("file:"):
        web.bring(wanted, partial, is_hurried=is_hurried)
        return
    # An index in a directory of this machine.
    path = Path(url2pathname(urlsplit(wanted.url).path))
    if not path.is_file():
        raise FetchError(
            "not-found",
            f"{wanted.url}: not there",
            why=(f"seen: no file {path}",),
            fix="Correct [machine] index_url, or add the file to that index.",
        )
    with translated(partial):
        shutil.copyfile(path, partial)
    wanted.on_bytes(partial.stat().st_size)
