"""Reading a source at lock time: its commit or digest, its submodules, its patches, its front end."""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, overload

from torchbuild.edges.archive import called, check, unpack
from torchbuild.edges.atomic import translated
from torchbuild.edges.git_submodules import declared_paths
from torchbuild.edges.locators import split_debian
from torchbuild.edges.manifest import tree_digest
from torchbuild.edges.tree_files import (
    TreeFiles,
    Wanted,
    moved_from,
    of_archive,
    of_commit,
    of_directory,
    patched,
)
from torchbuild.errors import FetchError, RecipeError
from torchbuild.knowledge.tables import late_facts
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import LockedOverlay, LockedPatch, LockedPrepare, LockedSource, LockedSubmodule
from torchbuild.model.recipe import Overlay, Recipe, Series, Source
from torchbuild.resolve.late_sources import is_pin
from torchbuild.resolve.series import checked_names

if TYPE_CHECKING:
    from torchbuild.cli.locking import World
    from torchbuild.edges.debian import DebianMirror

__all__ = ["SourceAnswer", "SourceReader", "series_names"]

_SERIES_LINE = re.compile(r"^(?P<name>[^\s#]+)(?:\s+(?P<options>-\S+))?\s*(?:#.*)?$")


_FRONT_END = "pyproject.toml"
_SETUP = "setup.py"
_MODULES = ".gitmodules"
_MOST_NAMES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceAnswer:
    """A source as it was found."""

    source: LockedSource
    """Exactly what it is."""
    epoch: int
    """Seconds since 1970."""
    pyproject: bytes
    """The tree's own, with all patches; empty where it has none."""
    has_front_end: bool = True
    """Whether it has what a wheel is built by, or what is laid over it or run in it may bring that."""
    tree: Mapping[str, str] = field(default_factory=dict)
    """Its CMake files, its pyproject.toml and its pins, with all patches: text by path."""
    brought: tuple[str, ...] = ()
    """Folders that a tree fetches by itself where they are missing, and that this one has."""
    unpinned: tuple[str, ...] = ()
    """What nobody answers for, each in a sentence."""


class _Patch(NamedTuple):
    """A patch, with what is in it."""

    locked: LockedPatch
    content: bytes


class _Found(NamedTuple):
    """A tree before its patches."""

    locked: LockedSource
    epoch: int
    files: TreeFiles


def _is_telling(name: str) -> bool:
    """Whether a file says how the tree is built."""
    return (
        name in (_FRONT_END, _SETUP, _MODULES) or name.endswith((".cmake", "CMakeLists.txt")) or is_pin(name)
    )


def _below(path: str, wanted: Wanted) -> Wanted:
    return lambda name: wanted(f"{path}/{name}")


def _may_come(source: Source) -> bool:
    """Whether something at the top of the tree may appear that is in none of the files read here."""
    return bool(source.prepare) or any(posixpath.normpath(item.to) == "." for item in source.overlay)


def _brought(names: Collection[str]) -> set[str]:
    wanted = {fact.to for fact in late_facts()}
    return {folder for folder in wanted if any(name.startswith(f"{folder}/") for name in names)}


class SourceReader:
    """Reads the source of one recipe; what must be fetched for that stays in the store."""

    def __init__(self, there: World) -> None:
        self._there = there
        self._doubts: list[str] = []
        self._open = contextlib.ExitStack()

    def read(self, recipe: Recipe) -> SourceAnswer:
        """The source, exactly, and its telling files as they will be once all patches are applied."""
        with self._open:
            return self._read(recipe)

    def _read(self, recipe: Recipe) -> SourceAnswer:
        source = recipe.source
        series = (
            self._artifact(source.series.archive, source.series.sha256, "source.series")
            if source.series
            else None
        )
        patches = (*self._series(source.series, series), *(self._patch(path) for path in source.patches))
        older = moved_from(patch.content for patch in patches)
        found = self._tree(source, lambda name: _is_telling(name) or name in older)
        contents = [(self._name(patch.locked), patch.content) for patch in patches]
        texts = patched(found.files.texts, contents, _is_telling)
        if source.git is None and source.submodules == "recursive":
            _require_submodules(source, texts.get(_MODULES, b""), found.files.names)
        return SourceAnswer(
            source=found.locked.model_copy(
                update={
                    "series": series,
                    "patches": tuple(patch.locked for patch in patches),
                    "overlays": tuple(
                        self._overlay(f"source.overlay[{index}]", item)
                        for index, item in enumerate(source.overlay)
                    ),
                    "prepare": tuple(LockedPrepare(argv=item.argv, cwd=item.cwd) for item in source.prepare),
                }
            ),
            epoch=found.epoch,
            pyproject=texts.get(_FRONT_END, b""),
            has_front_end=_FRONT_END in texts or _SETUP in texts or _may_come(source),
            tree={
                name: content.decode(errors="replace")
                for name, content in sorted(texts.items())
                if _is_telling(name) and name not in (_MODULES, _SETUP)
            },
            brought=tuple(sorted(_brought(found.files.names))),
            unpinned=tuple(self._doubts),
        )

    def _tree(self, source: Source, wanted: Wanted) -> _Found:
        if source.git is not None:
            return self._git(source, source.git, wanted)
        if source.archive is not None:
            return self._archive(source, source.archive, wanted)
        return self._path(source, source.path or ".", wanted)

    def _git(self, source: Source, url: str, wanted: Wanted) -> _Found:
        git = self._there.git
        bare, commit = git.locate(url, source.ref or "HEAD")
        modules = git.locked_submodules(url, commit) if source.submodules == "recursive" else ()
        locked = LockedSource(kind="git", url=url, ref=source.ref or "", commit=commit, submodules=modules)
        files = of_commit(bare, commit, wanted)
        for module in modules:  # their options are options of the whole
            files = files.with_part(module.path, self._module(module, _below(module.path, wanted)))
        return _Found(locked, source.epoch or git.commit_time(bare, commit), files)

    def _module(self, module: LockedSubmodule, wanted: Wanted) -> TreeFiles:
        git = self._there.git
        bare = git.cached(module.url, module.commit) or git.fetch_commit(module.url, module.commit)
        return of_commit(bare, module.commit, wanted)

    def _archive(self, source: Source, archive: str, wanted: Wanted) -> _Found:
        artifact = self._artifact(archive, source.sha256, "source")
        locked = LockedSource(kind="archive", artifact=artifact, strip=source.strip)
        stored = self._stored(artifact)
        with called(archive, stored):
            files = of_archive(stored, wanted, strip=source.strip)
        return _Found(locked, source.epoch or 0, files)

    def _path(self, source: Source, path: str, wanted: Wanted) -> _Found:
        folder = self._there.recipe_dir / path
        if not folder.is_dir():
            raise _missing("source.path", folder)
        locked = LockedSource(kind="path", path=path, tree=tree_digest(folder, without=(".git",)))
        return _Found(locked, source.epoch or 0, of_directory(folder, wanted))

    @overload
    def _artifact(self, where: str, sha256: str | None, key: str) -> Artifact: ...

    @overload
    def _artifact(self, where: None, sha256: str | None, key: str) -> None: ...

    def _artifact(self, where: str | None, sha256: str | None, key: str) -> Artifact | None:
        """What the table `key` names: locator, digest and, for a publisher that tells it, size.

        The file is in the store afterwards.
        """
        if where is None:
            return None
        if where.startswith("debian:"):
            artifact = self._debian(where, sha256)
        elif "://" in where or where.startswith(("pypi:", "nvidia:")):
            artifact = Artifact(locator=where, sha256=sha256 or "")
        else:
            if not (self._there.recipe_dir / where).is_file():
                raise _missing("archive", self._there.recipe_dir / where)
            artifact = Artifact(locator=f"file:{where}", sha256=sha256 or "")
        with _asked_for(where, key, is_given=sha256 is not None):
            self._there.network.fetch((artifact,), lambda _done, _total, _name: None)
        return artifact.model_copy(update={"size": self._stored(artifact).stat().st_size})

    @cached_property
    def _mirror(self) -> DebianMirror:
        from torchbuild.edges.debian import DebianMirror  # noqa: PLC0415  only a lock in the making asks a mirror
        from torchbuild.edges.web import Web  # noqa: PLC0415

        web = self._open.enter_context(contextlib.closing(Web()))
        return DebianMirror(web, self._there.places.cache, self._there.mirrors)

    def _debian(self, where: str, sha256: str | None) -> Artifact:
        suite, package, file = split_debian(where)
        files = self._mirror.source_files(suite, package)
        found = next((item for item in files if item.locator == where), None)
        if found is None and sha256 is not None:
            return Artifact(locator=where, sha256=sha256)
        if found is None or (sha256 is not None and found.sha256 != sha256):
            raise RecipeError(
                "publisher-says-otherwise",
                f"{file} is not what Debian publishes for {package} in {suite}",
                why=(
                    f"seen {found.sha256 if found else 'no such file in this suite'}",
                    f"wanted {sha256 or file}",
                ),
                fix="Name a file of the suite's current source package, or give the digest of an older one.",
            )
        if sha256 is None and (doubt := self._mirror.doubt(suite)):
            self._doubts.append(f"{where}: its digest is what the mirror said, and {doubt}")
        return found

    def _stored(self, artifact: Artifact) -> Path:
        path = self._there.store.get(artifact.sha256)
        if path is None:
            raise _missing(artifact.locator, Path(artifact.name))
        return path

    def _patch(self, path: str) -> _Patch:
        file = self._there.recipe_dir / path
        return _locked_patch(file.name, _content(file, "source.patches"), f"recipe:{path}")

    def _name(self, patch: LockedPatch) -> str:
        """What the user is told to look at: the file, where it is one."""
        kind, _, path = patch.origin.partition(":")
        return str(self._there.recipe_dir / path) if kind == "recipe" else patch.name

    def _series(self, series: Series | None, artifact: Artifact | None) -> tuple[_Patch, ...]:
        if series is None:
            return ()
        if artifact is None:
            folder = self._there.recipe_dir / series.path
            text = _read(folder / "series")
            return tuple(self._patch(f"{series.path}/{name}") for name in series_names(text, series.exclude))
        with tempfile.TemporaryDirectory(prefix="torchbuild-series-") as temp:
            folder = Path(temp) / "unpacked"
            stored = self._stored(artifact)
            with called(series.archive or "", stored):
                unpack(stored, folder, only=series.path)
            names = series_names(_read(folder / series.path / "series"), series.exclude)
            return tuple(_from_series(folder, series.path, name) for name in names)

    def _overlay(self, where: str, overlay: Overlay) -> LockedOverlay:
        """Its archive is looked through now: what could not be laid would be told an hour later."""
        artifact = self._artifact(overlay.archive, overlay.sha256, where)
        if artifact is not None:
            stored = self._stored(artifact)
            with called(overlay.archive or "", stored):
                check(stored, strip=overlay.strip, only=overlay.only)
        return LockedOverlay(
            artifact=artifact,
            path=overlay.path,
            to=overlay.to,
            only=overlay.only,
            strip=overlay.strip,
        )


def series_names(text: str, exclude: tuple[str, ...]) -> tuple[str, ...]:
    """The patches of a quilt series in order, without the excluded ones."""
    names = []
    for line in text.splitlines():
        match = _SERIES_LINE.match(line.strip())
        if match is None:
            continue
        if match["options"] not in (None, "-p1"):
            raise RecipeError(
                "series-option-unknown",
                f"the series applies {match['name']} with {match['options']}",
                why="wanted patches with -p1, quilt's default",
                fix="Exclude the patch and give it as a patch of the recipe.",
            )
        names.append(match["name"])
    unknown = sorted(set(exclude) - set(names))
    if unknown:
        raise RecipeError(
            "series-exclude-unknown",
            f"the series has no patch {', '.join(unknown)}",
            why=f"wanted names out of {', '.join(names)}",
            fix="Correct source.series.exclude.",
        )
    return checked_names(name for name in names if name not in exclude)


def _from_series(folder: Path, path: str, name: str) -> _Patch:
    return _locked_patch(name, _content(folder / path / name, "the series"), f"series:{path}/{name}")


def _locked_patch(name: str, content: bytes, origin: str) -> _Patch:
    digest = hashlib.sha256(content).hexdigest()
    return _Patch(LockedPatch(name=name, sha256=digest, origin=origin), content)


def _require_submodules(source: Source, modules: bytes, names: frozenset[str]) -> None:
    """Refuse a tree whose .gitmodules wants directories in which nothing lies, and that no overlay fills.

    Archives that a forge makes of a commit are such trees: their submodules are missing without a word.
    """
    filled = tuple(f"{posixpath.normpath(item.to)}/" for item in source.overlay)
    missing = [
        path
        for path in (declared_paths(modules) if modules else ())
        if not any(name.startswith(f"{path}/") for name in names) and not f"{path}/".startswith(filled)
    ]
    if missing:
        some = ", ".join((*missing[:_MOST_NAMES], *("…" for _ in missing[_MOST_NAMES : _MOST_NAMES + 1])))
        raise RecipeError(
            "source-lacks-submodules",
            f"{source.archive or source.path}: {len(missing)} submodules of the tree are not in it",
            why=(
                f"seen in .gitmodules, and empty: {some}",
                "wanted: a tree with its submodules, as git clones it",
            ),
            fix='Set source.git and source.ref instead; or submodules = "system" to build without them.',
        )


def _read(path: Path) -> str:
    return _content(path, "source.series").decode(errors="replace")


def _content(path: Path, key: str) -> bytes:
    """The bytes of a file that `key` names."""
    if not path.is_file():
        raise _missing(key, path)
    with translated(path):
        return path.read_bytes()


@contextlib.contextmanager
def _asked_for(where: str, key: str, *, is_given: bool) -> Iterator[None]:
    """Where the digest that differs is the recipe's own, that is what may be wrong: there is no lock yet."""
    try:
        yield
    except FetchError as error:
        if error.reference == "digest-mismatch" and is_given:
            error.what = f"{where}: its bytes are not those of {key}.sha256"
            error.fix = f"Correct {key}.sha256 if the file of {where} is the one you mean; else name another."
        raise


def _missing(key: str, path: Path) -> RecipeError:
    return RecipeError(
        "recipe-names-missing-file",
        f"{key} names a file that is not there",
        why=f"seen nothing at {path}",
        fix=f"Correct {key}, or put the file there.",
    )
