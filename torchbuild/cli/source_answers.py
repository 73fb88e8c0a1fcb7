"""Reading a source at lock time: its commit or digest, its submodules, its patches, its front end."""

from __future__ import annotations

import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.edges.archive import read_member, unpack
from torchbuild.edges.atomic import translated
from torchbuild.edges.debian import DebianMirror
from torchbuild.edges.locators import split_debian
from torchbuild.edges.manifest import tree_digest
from torchbuild.edges.web import Web
from torchbuild.errors import RecipeError
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import LockedOverlay, LockedPatch, LockedPrepare, LockedSource
from torchbuild.model.recipe import Overlay, Recipe, Series, Source

if TYPE_CHECKING:
    from torchbuild.cli.locking import World

__all__ = ["SourceAnswer", "SourceReader", "series_names"]

_SERIES_LINE = re.compile(r"^(?P<name>[^\s#]+)(?:\s+(?P<options>-\S+))?\s*(?:#.*)?$")


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceAnswer:
    """A source as it was found."""

    source: LockedSource
    """Exactly what it is."""
    epoch: int
    """Seconds since 1970."""
    pyproject: bytes
    """The tree's own; empty where it has none."""


class SourceReader:
    """Reads the source of one recipe; what must be fetched for that stays in the store."""

    def __init__(self, there: World) -> None:
        self._there = there

    def read(self, recipe: Recipe) -> SourceAnswer:
        """The source, exactly."""
        source = recipe.source
        if source.git is not None:
            kind, epoch, pyproject = self._git(source, source.git)
        elif source.archive is not None:
            kind, epoch, pyproject = self._archive(source, source.archive)
        else:
            kind, epoch, pyproject = self._path(source, source.path or ".")
        series = self._artifact(source.series.archive, source.series.sha256) if source.series else None
        patches = (*self._series(source.series, series), *(self._patch(path) for path in source.patches))
        return SourceAnswer(
            source=kind.model_copy(
                update={
                    "series": series,
                    "patches": patches,
                    "overlays": tuple(self._overlay(item) for item in source.overlay),
                    "prepare": tuple(LockedPrepare(argv=item.argv, cwd=item.cwd) for item in source.prepare),
                }
            ),
            epoch=epoch,
            pyproject=pyproject,
        )

    def _git(self, source: Source, url: str) -> tuple[LockedSource, int, bytes]:
        git = self._there.git
        commit = git.resolve_ref(url, source.ref or "HEAD")
        bare = git.fetch_commit(url, commit)
        modules = git.locked_submodules(url, commit) if source.submodules == "recursive" else ()
        locked = LockedSource(kind="git", url=url, ref=source.ref or "", commit=commit, submodules=modules)
        return (
            locked,
            source.epoch or git.commit_time(bare, commit),
            git.show(bare, commit, "pyproject.toml") or b"",
        )

    def _archive(self, source: Source, archive: str) -> tuple[LockedSource, int, bytes]:
        artifact = self._artifact(archive, source.sha256)
        locked = LockedSource(kind="archive", artifact=artifact, strip=source.strip)
        content = (
            read_member(self._stored(artifact), "pyproject.toml", strip=source.strip) if artifact else None
        )
        return locked, source.epoch or 0, content or b""

    def _path(self, source: Source, path: str) -> tuple[LockedSource, int, bytes]:
        folder = self._there.recipe_dir / path
        if not folder.is_dir():
            raise _missing("source.path", folder)
        locked = LockedSource(kind="path", path=path, tree=tree_digest(folder, without=(".git",)))
        pyproject = folder / "pyproject.toml"
        content = _content(pyproject, "source.path") if pyproject.is_file() else b""
        return locked, source.epoch or 0, content

    def _artifact(self, where: str | None, sha256: str | None) -> Artifact | None:
        """Locator, digest and, for a publisher that tells it, size; the file is in the store afterwards."""
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
        self._there.network.fetch((artifact,), lambda _done, _total, _name: None)
        return artifact.model_copy(update={"size": self._stored(artifact).stat().st_size})

    def _debian(self, where: str, sha256: str | None) -> Artifact:
        suite, package, file = split_debian(where)
        mirror = DebianMirror(Web(), self._there.places.cache, self._there.mirrors)
        found = next((item for item in mirror.source_files(suite, package) if item.locator == where), None)
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
        return found

    def _stored(self, artifact: Artifact) -> Path:
        path = self._there.store.get(artifact.sha256)
        if path is None:
            raise _missing(artifact.locator, Path(artifact.name))
        return path

    def _patch(self, path: str) -> LockedPatch:
        file = self._there.recipe_dir / path
        digest = hashlib.sha256(_content(file, "source.patches")).hexdigest()
        return LockedPatch(name=file.name, sha256=digest, origin=f"recipe:{path}")

    def _series(self, series: Series | None, artifact: Artifact | None) -> tuple[LockedPatch, ...]:
        if series is None:
            return ()
        if artifact is None:
            folder = self._there.recipe_dir / series.path
            text = _read(folder / "series")
            return tuple(self._patch(f"{series.path}/{name}") for name in series_names(text, series.exclude))
        with tempfile.TemporaryDirectory(prefix="torchbuild-series-") as temp:
            folder = Path(temp) / "unpacked"
            unpack(self._stored(artifact), folder, only=series.path)
            names = series_names(_read(folder / series.path / "series"), series.exclude)
            return tuple(_from_series(folder, series.path, name) for name in names)

    def _overlay(self, overlay: Overlay) -> LockedOverlay:
        return LockedOverlay(
            artifact=self._artifact(overlay.archive, overlay.sha256),
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
    return tuple(name for name in names if name not in exclude)


def _from_series(folder: Path, path: str, name: str) -> LockedPatch:
    digest = hashlib.sha256(_content(folder / path / name, "the series")).hexdigest()
    return LockedPatch(name=name, sha256=digest, origin=f"series:{path}/{name}")


def _read(path: Path) -> str:
    return _content(path, "source.series").decode(errors="replace")


def _content(path: Path, key: str) -> bytes:
    """The bytes of a file that `key` names."""
    if not path.is_file():
        raise _missing(key, path)
    with translated(path):
        return path.read_bytes()


def _missing(key: str, path: Path) -> RecipeError:
    return RecipeError(
        "recipe-names-missing-file",
        f"{key} names a file that is not there",
        why=f"seen nothing at {path}",
        fix=f"Correct {key}, or put the file there.",
    )
