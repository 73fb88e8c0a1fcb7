"""Interpreters that uv manages: which archive, and what it becomes. They come in rounds of questions.

First uv's own list, which names the newest build of a version; then uv's digest of that build; then the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from packaging.version import InvalidVersion, Version

from torchbuild.errors import ConflictError
from torchbuild.knowledge.interpreters import standalone_fact
from torchbuild.model.artifact import is_sha256
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.provider import Answers, Question, Questions

__all__ = ["further", "part", "questions"]

_WANTED = re.compile(r"(?P<version>[0-9]+\.[0-9]+(\.[0-9]+((a|b|rc)[0-9]+)?)?)(?P<free>t?)")
_URL = re.compile(r"https://[^?#]*/(?P<build>[0-9]{8})/(?P<file>cpython-[A-Za-z0-9._%+-]+)")
_MOST_TOLD = 8


class _Build(NamedTuple):
    """One row of uv's list."""

    version: Version
    build: str
    """Date of the build."""
    key: str
    """uv's own name of it."""
    file: str
    """Name of the archive, as addresses have it."""
    flavor: str
    """What kind of archive it is, such as ``install_only``; empty where it is another layout."""


def questions(recipe: Recipe) -> Questions:
    """The first round: uv's list."""
    _wanted(recipe)
    return Questions(documents=(_list(recipe),))


def further(recipe: Recipe, answers: Answers) -> Questions:
    """The next round, after the answers so far; empty when `part` can be asked."""
    chosen = _chosen(recipe, answers)
    digest = _digest_locator(recipe, chosen)
    if digest not in answers.documents:
        return Questions(documents=(digest,))
    if _locator(chosen) not in answers.files:
        told = answers.documents[digest].strip()
        sha256 = told if is_sha256(told) else ""
        return Questions(files=(Question(locator=_locator(chosen), sha256=sha256),))
    return Questions()


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """The interpreter. What it says of itself is read from its archive: `python_part.described` adds it."""
    chosen = _chosen(recipe, answers)
    piece = LockedPiece(artifact=answers.files[_locator(chosen)], strip=1)
    return LockedPart(
        name="python",
        provider="uv",
        version=str(chosen.version),
        prefix=prefix_of("python"),
        pieces=(piece,),
        says={"build": chosen.build},
    )


def _wanted(recipe: Recipe) -> tuple[str, bool]:
    """The version, and whether it is the free-threaded build of it."""
    asked = recipe.python.version
    found = _WANTED.fullmatch(asked or "")
    if found is None:
        raise ConflictError(
            "python-version-unclear",
            f"uv has no interpreter {asked}" if asked else "the recipe names no version of Python",
            why=(f"seen python.version = {asked or 'nothing'}", "wanted 3.12, 3.12.8 or 3.13t"),
            fix='Set python.version, such as "3.12": with from = "uv", no interpreter is there to be asked.',
        )
    return found["version"], bool(found["free"])


def _list(recipe: Recipe) -> str:
    machine = recipe.target.machine
    return f"uv:python-downloads/{machine}"


def _digest_locator(recipe: Recipe, chosen: _Build) -> str:
    return f"uv:python-digest/{recipe.target.machine}/{chosen.key}"


def _locator(chosen: _Build) -> str:
    return f"{standalone_fact().scheme}:{chosen.build}/{chosen.file}"


def _chosen(recipe: Recipe, answers: Answers) -> _Build:
    """The newest release of the version that is asked for; what is no release only where it is named."""
    version, free = _wanted(recipe)
    builds = sorted(_builds(answers.documents[_list(recipe)], free=free), reverse=True)
    fitting = [item for item in builds if _fits(item.version, version)]
    readable = [item for item in fitting if item.flavor]
    if not fitting:
        raise _not_offered(recipe, builds, version)
    if not readable:
        raise _other_layout(recipe, fitting[0], [item for item in builds if item.flavor])
    return readable[0]


def _fits(version: Version, wanted: str) -> bool:
    asked = Version(wanted)
    if len(asked.release) > len(("major", "minor")):
        return version == asked
    return not version.is_prerelease and version.release[:2] == asked.release


def _builds(listing: str, *, free: bool) -> Iterator[_Build]:
    """The rows for Linux with glibc. What is not understood is no offer."""
    variant = "freethreaded" if free else "default"
    try:
        read = json.loads(listing)
    except (ValueError, RecursionError):
        read = []
    rows = [row for row in read if isinstance(row, dict)] if isinstance(read, list) else []
    wanted = {"implementation": "cpython", "os": "linux", "libc": "gnu", "variant": variant}
    for row in rows:
        found = _URL.fullmatch(str(row.get("url", "")))
        if found is None or any(row.get(key) != value for key, value in wanted.items()):
            continue
        try:
            version = Version(str(row.get("version")))
        except InvalidVersion:
            continue
        flavor = _flavor(unquote(found["file"]))
        yield _Build(version, found["build"], str(row.get("key")), found["file"], flavor)


def _flavor(file: str) -> str:
    endings = {f"-{flavor}.tar.gz": flavor for flavor in standalone_fact().flavors}
    return next((flavor for ending, flavor in endings.items() if file.endswith(ending)), "")


def _not_offered(recipe: Recipe, builds: list[_Build], version: str) -> ConflictError:
    alike = [item for item in builds if item.version.release[:2] == Version(version).release[:2]]
    offered = ", ".join(str(item.version) for item in (alike or builds)[:_MOST_TOLD])
    return ConflictError(
        "python-not-offered",
        f"uv offers no Python {recipe.python.version} for {recipe.target.machine}",
        why=(
            f"seen {offered or 'no interpreter at all'}",
            f"wanted {recipe.python.version}",
            "source: the list of the uv that torchbuild is installed with",
        ),
        fix="Name one of these in python.version, or upgrade uv: python -m pip install --upgrade uv",
    )


def _other_layout(recipe: Recipe, seen: _Build, readable: list[_Build]) -> ConflictError:
    offered = ", ".join(str(item.version) for item in readable[:_MOST_TOLD])
    return ConflictError(
        "python-archive-other-layout",
        f"Python {recipe.python.version} is published in an archive that is not an installation",
        why=(
            f"seen {unquote(seen.file)}",
            f"wanted one of {', '.join(standalone_fact().flavors)}; newest of them: {offered or 'none'}",
            "source: the list of the uv that torchbuild is installed with",
        ),
        fix="Name one of these in python.version.",
    )
