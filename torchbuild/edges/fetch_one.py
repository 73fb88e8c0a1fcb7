"""One artifact into the store: its candidates in turn, its part of a file, its lock."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from filelock import FileLock

from torchbuild.edges.apt_sources import debian_mirror
from torchbuild.edges.atomic import sha256_of, translated
from torchbuild.edges.file_kinds import refuse_other_kind
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
from torchbuild.model.artifact import file_name, locator_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchbuild.context import Store
    from torchbuild.model.artifact import Artifact

__all__ = ["Places", "Sought", "bring", "bring_sought", "candidates", "read_text"]

_NEXT = {"not-found", "not-reachable", "access-refused", "tls-failed", "not-on-index"}
_FIXES = {
    "locked": "Find out why the file changed there before anything else; only then torchbuild lock again.",
    "named": "Find out which of the two digests is right; then correct sha256 in the recipe, or the mirror.",
    "first seen": "Find out why the file changed there; name the right digest as sha256 in the recipe.",
}
"""What to do about other bytes, by who named the digest."""


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


@dataclass(frozen=True)
class Sought:
    """One file that is to come into the store, and what is known of it."""

    locator: str
    """Where it can be had, neutral."""
    on_bytes: Callable[[int], None]
    """Told how many bytes are there by now."""
    sha256: str = ""
    """Its digest; empty where nobody names one: then what comes is what it is."""
    size: int | None = None
    """Its bytes, where they are known."""
    promised: str = "locked"
    """Who named the digest, for the error: ``locked``, ``named`` or ``first seen``."""
    on_total: Callable[[int], None] = lambda _total: None
    """Told how long the file is, once a server says so."""

    @property
    def part(self) -> str:
        """What its part of a file is called: by the whole's digest, or where there is none by its locator."""
        return self.sha256 or f"first-{sha256(self.locator.encode()).hexdigest()}"


def bring(places: Places, artifact: Artifact, on_bytes: Callable[[int], None]) -> None:
    """Make sure that the store holds `artifact`.

    Raises:
        RecipeError, FetchError, HostError: as `torchbuild.edges.download.Downloader.fetch` says.
    """
    bring_sought(places, Sought(artifact.locator, on_bytes, artifact.sha256, artifact.size))


def bring_sought(places: Places, sought: Sought) -> str:
    """Make sure that the store holds the file; its digest.

    Raises:
        RecipeError, FetchError, HostError: as `torchbuild.edges.download.Downloader.fetch` says;
            FetchError ``length-unknown``, ``not-the-file`` where no digest is known.
    """
    if locator_kind(sought.locator) == "file":
        path = _recipe_file(places.recipe_dir, sought.locator)
        digest = sought.sha256 or sha256_of(path)
        places.store.add(path, digest)
        return digest
    partial = places.partial / sought.part
    with FileLock(f"{partial}.lock"):
        if sought.sha256 and places.store.get(sought.sha256) is not None:
            return sought.sha256

        def attempt(url: str, is_hurried: bool) -> str:  # noqa: FBT001  two positions, both named by callers
            return _from_one(places, sought, url, partial, is_hurried=is_hurried)

        return _from_candidates(places, sought.locator, attempt)


def read_text(places: Places, locator: str, most: int) -> str:
    """The text of a small file, which does not come into the store.

    Raises:
        RecipeError: ``locator-invalid``, ``locator-unresolved``.
        FetchError: ``document-too-long``, ``document-unreadable``, and those of an address.
    """

    def attempt(url: str, is_hurried: bool) -> str:  # noqa: FBT001  as above
        body = places.web.document(url, most, is_hurried=is_hurried)
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FetchError(
                "document-unreadable",
                f"{without_credentials(url)}: not a text",
                why=(f"seen: {error}", "wanted: UTF-8"),
                fix="Look at what the address gives; correct [machine.mirrors] if it is a mirror.",
            ) from error

    return _from_candidates(places, locator, attempt)


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


def _from_candidates(places: Places, locator: str, attempt: Callable[[str, bool], str]) -> str:
    """What the first address gives that gives anything; a wrong file is never passed over in silence.

    Args:
        places: where addresses come from.
        locator: what is sought.
        attempt: takes an address, and whether to give up at once where no connection comes about.
    """
    failure: FetchError | None = None
    left = list(candidates(places, locator))
    while left:
        url = left.pop(0)
        try:
            return _from_next(places, url, left, attempt)
        except FetchError as error:
            if error.reference not in _NEXT:
                raise
            # What a place has but could not give says more than that another never had it.
            if failure is None or (failure.reference == "not-found" and error.reference != "not-found"):
                failure = error
    if failure is None:
        raise AssertionError("a locator has an address")
    raise failure


def _from_next(places: Places, url: str, left: Sequence[str], attempt: Callable[[str, bool], str]) -> str:
    """From this address; what comes of it decides how others of its host are asked."""
    host, known = urlsplit(url).netloc, places.unconnected
    others = [other for other in left if urlsplit(other).netloc not in {host, *known}]
    if host in known and others:
        raise _not_asked(url, known[host])
    try:
        found = attempt(url, host in known or bool(others))
    except FetchError as error:
        is_new = is_unconnected(error.__cause__) and known.setdefault(host, error) is error
        if others and error.reference in _NEXT and error.reference != "not-found":
            again = f"; {host} is not asked again in this run" if is_new else ""
            places.tell(f"{error.what}; asking {without_credentials(others[0])} instead{again}")
        raise
    known.pop(host, None)
    return found


def _not_asked(url: str, before: FetchError) -> FetchError:
    return FetchError(
        "not-reachable",
        f"{without_credentials(url)}: not asked, its host took no connection before",
        why=(before.what, *before.why),
        fix=before.fix,
    )


def _from_one(places: Places, sought: Sought, url: str, partial: Path, *, is_hurried: bool) -> str:
    wanted = Wanted(url, sought.size, sought.on_bytes, bool(sought.sha256), sought.on_total)
    resumed = partial.exists() and partial.stat().st_size > 0
    _transfer(places.web, wanted, partial, is_hurried=is_hurried)
    try:
        return _keep(places.store, partial, sought, url)
    except FetchError:
        if not resumed or not sought.sha256:
            raise
        # The first part may have come from another version of the file: once more, all from here.
        _transfer(places.web, wanted, partial, is_hurried=is_hurried)
        return _keep(places.store, partial, sought, url)


def _keep(store: Store, partial: Path, sought: Sought, url: str) -> str:
    """Into the store, its digest; gone from the parts unless this machine could not take it."""
    if not sought.sha256:
        try:
            refuse_other_kind(partial, file_name(sought.locator), without_credentials(url))
        except FetchError:
            forget(partial)
            raise
    digest = sought.sha256 or sha256_of(partial)
    try:
        store.add(partial, digest)
    except FetchError as error:
        forget(partial)
        raise FetchError(
            "digest-mismatch",
            f"{without_credentials(url)}: not the bytes that were {sought.promised}",
            why=error.why,
            fix=_FIXES[sought.promised],
        ) from error
    forget(partial)
    return digest


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
