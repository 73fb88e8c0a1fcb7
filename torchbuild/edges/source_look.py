"""A quick look at a source directory, before it is read in full: what would stop or mislead a build in it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from torchbuild.model.source_tree import SourceTree

__all__ = ["look_at_source"]

_MOST_FILES = 100_000
_MOST_TOLD = 20
_SLACK_S = 60.0
"""What a clock may differ from that of a file server."""
_CACHES = ("CMakeCache.txt", "build/CMakeCache.txt")
_ENTRIES = re.compile(
    r"^(USE_[A-Z0-9_]+|BUILD_PYTHON|PYTHON_EXECUTABLE|Python_EXECUTABLE|CMAKE_HOME_DIRECTORY):[A-Z]+=(.*)$",
    re.MULTILINE,
)
_SHOWN = (
    *("USE_CUDA", "USE_NCCL", "USE_NUMPY", "BUILD_PYTHON"),
    *("PYTHON_EXECUTABLE", "Python_EXECUTABLE", "CMAKE_HOME_DIRECTORY"),
)
_MOST_CACHE = 2_000_000
_SUBMODULE = re.compile(r"^\s*path\s*=\s*(\S.*?)\s*$", re.MULTILINE)


def look_at_source(folder: Path, name: str, now: float) -> SourceTree:
    """What is there. Never raises for what it finds; nothing is changed.

    Args:
        folder: the directory.
        name: as the recipe calls it.
        now: seconds since 1970.
    """
    if not _is_directory(folder) or not os.access(folder, os.R_OK | os.X_OK):
        return SourceTree(path=name, exists=False)
    cache = next((path for path in _CACHES if (folder / path).is_file()), "")
    future, scripts, any_runs = _walked(folder, now + _SLACK_S)
    return SourceTree(
        path=name,
        has_front_end=any((folder / file).is_file() for file in ("pyproject.toml", "setup.py")),
        git=_git(folder),
        owner_differs=folder.stat().st_uid != os.geteuid() and os.geteuid() != 0,
        empty_submodules=tuple(_empty(folder)),
        cache=cache,
        cache_says=_says(folder / cache) if cache else {},
        not_executable=() if any_runs else tuple(scripts),
        future=tuple(future),
    )


def _git(folder: Path) -> Literal["", "directory", "file", "dangling"]:
    path = folder / ".git"
    if _is_directory(path):
        return "directory"
    if not path.is_file():
        return ""
    named = _text(path, 4096).removeprefix("gitdir:").strip()
    return "file" if named and _is_directory(folder / named) else "dangling"


def _is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112  the other raises where it may not look


def _empty(folder: Path) -> Iterator[str]:
    for name in _SUBMODULE.findall(_text(folder / ".gitmodules", _MOST_CACHE)):
        place = folder / name
        inside = ".." not in Path(name).parts and not Path(name).is_absolute()
        if inside and _is_empty(place):
            yield name


def _is_empty(place: Path) -> bool:
    """Whether there is nothing, or no directory; one that may not be read may hold something."""
    try:
        return not any(place.iterdir())
    except PermissionError:
        return False
    except OSError:
        return True


def _says(cache: Path) -> dict[str, str]:
    found = dict(_ENTRIES.findall(_text(cache, _MOST_CACHE)))
    return {name: found[name] for name in _SHOWN if found.get(name)}


def _text(path: Path, most: int) -> str:
    try:
        with path.open("rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def _walked(folder: Path, until: float) -> tuple[list[str], list[str], bool]:
    """Files that are newer than `until`; shell scripts; whether any of those can be started."""
    future: list[str] = []
    scripts: list[str] = []
    any_runs, seen = False, 0
    for directory, below, files in os.walk(folder):
        below[:] = sorted(name for name in below if name != ".git")
        for name in sorted(files):
            seen += 1
            path = f"{directory}/{name}"
            try:
                state = os.lstat(path)
            except OSError:
                continue
            if not stat.S_ISREG(state.st_mode):
                continue
            if state.st_mtime > until and len(future) < _MOST_TOLD:
                future.append(os.path.relpath(path, folder))
            if name.endswith(".sh"):
                any_runs = any_runs or bool(state.st_mode & stat.S_IXUSR)
                scripts += [os.path.relpath(path, folder)] if len(scripts) < _MOST_TOLD else []
        if seen > _MOST_FILES:
            break
    return future, scripts, any_runs
