"""Paths of a recipe that mean files beside it: relative to the file that they stand in."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from torchbuild.model.recipe import Recipe, Series
from torchbuild.resolve.problems import Location, dotted

__all__ = ["folders_of", "is_elsewhere", "local_paths", "rebased"]

Table = Mapping[str, Any]

_SERIES_PATH: str = Series.model_fields["path"].default
_LOCATORS = ("debian:", "pypi:", "nvidia:")


def is_elsewhere(archive: str) -> bool:
    """Whether an archive is named by an address or a locator, and not by its path."""
    return "://" in archive or archive.startswith(_LOCATORS)


def folders_of(table: Table, folder: str, below: Mapping[str, str]) -> dict[str, str]:
    """The folder of each path of a recipe file and of what it extends, by dotted key.

    Args:
        table: the file's own, as it was parsed; nothing in it is believed.
        folder: where the file lies, relative to the recipe that was asked for.
        below: the same of what the file extends, without the paths that the file replaces.
    """
    found = dict(below)
    for location, path in _paths(table):
        key = dotted(location)
        if path or key not in found:  # a default does not move what was said below
            found[key] = folder
    return found


def rebased(table: dict[str, Any], folders: Mapping[str, str]) -> dict[str, Any]:
    """The table with each of its paths relative to the recipe that was asked for.

    Args:
        table: all files of the recipe, merged.
        folders: what `folders_of` says of each file, merged likewise.
    """
    for location, path in _paths(table):
        folder = folders.get(dotted(location), ".")
        if folder != "." and not path.startswith("/"):
            beside = posixpath.join(folder, path or _SERIES_PATH)
            table = _put(table, location, posixpath.normpath(beside))
    return table


def local_paths(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Each path of the recipe that means a file beside it, with its dotted key."""
    for location, path in _paths(recipe.model_dump(mode="json", by_alias=True, exclude_none=True)):
        yield dotted(location), path


def _paths(table: Table) -> Iterator[tuple[Location, str]]:
    """Each path with its place; archives that lie elsewhere, and places inside an archive, are none.

    A series without a path has the empty one: it means the default.
    """
    yield from _of_source(("source",), table.get("source"))
    companions = table.get("companions")
    rows = companions.items() if isinstance(companions, Mapping) else enumerate(_list(companions))
    for key, row in rows:
        if isinstance(row, Mapping):
            yield from _of_source(("companions", key, "source"), row.get("source"))


def _of_source(at: Location, source: object) -> Iterator[tuple[Location, str]]:
    if not isinstance(source, Mapping):
        return
    yield from _text((*at, "path"), source.get("path"))
    yield from _archive((*at, "archive"), source)
    for index, patch in enumerate(_list(source.get("patches"))):
        yield from _text((*at, "patches", index), patch)
    for index, overlay in enumerate(_list(source.get("overlay"))):
        if isinstance(overlay, Mapping):
            yield from _archive((*at, "overlay", index, "archive"), overlay)
    series = source.get("series")
    if isinstance(series, Mapping):
        yield from _archive((*at, "series", "archive"), series)
        if "archive" not in series and isinstance(series.get("path", ""), str):
            yield (*at, "series", "path"), series.get("path", "")


def _archive(at: Location, table: Table) -> Iterator[tuple[Location, str]]:
    archive = table.get("archive")
    if isinstance(archive, str) and not is_elsewhere(archive):
        yield from _text(at, archive)


def _text(at: Location, value: object) -> Iterator[tuple[Location, str]]:
    if isinstance(value, str) and value:
        yield at, value


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _put(value: Any, location: Location, new: str) -> Any:  # noqa: ANN401  any TOML value
    """A copy of the value with another text at one place."""
    if not location:
        return new
    first, rest = location[0], location[1:]
    if isinstance(value, list):
        return [_put(item, rest, new) if index == first else item for index, item in enumerate(value)]
    return {**value, first: _put(value[first], rest, new) if rest else new}
