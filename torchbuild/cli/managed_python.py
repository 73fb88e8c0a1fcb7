"""An interpreter that uv manages, settled at lock time: asked for in rounds, fetched, read, not run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from torchbuild.edges.archive import read_members
from torchbuild.model.artifact import Artifact
from torchbuild.model.lock import LockedPython
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import python_uv
from torchbuild.toolchains.provider import Answers, Question, Questions
from torchbuild.toolchains.python_part import described
from torchbuild.toolchains.python_standalone import is_asked, locked_python

__all__ = ["Managed", "managed_python"]

Fetch = Callable[[Question], tuple[Artifact, Path]]


class Managed(NamedTuple):
    """The interpreter as it will be."""

    part: LockedPart
    python: LockedPython
    archive: Path
    """Its file in the store."""


def managed_python(recipe: Recipe, document: Callable[[str], str], fetch: Fetch) -> Managed:
    """Settle it.

    Args:
        recipe: with ``python.from = "uv"``.
        document: the text of a locator such as ``uv:python-downloads/x86_64``.
        fetch: brings a file into the store; where the question has no digest, it is computed.

    Raises:
        ConflictError: ``python-version-unclear``, ``python-not-offered``, ``python-archive-other-layout``.
        FetchError: ``python-archive-unreadable``, ``python-archive-other-version``, and as ``fetch``.
        HostError: as ``document``.
    """
    texts: dict[str, str] = {}
    files: dict[str, tuple[Artifact, Path]] = {}
    asked, answers = python_uv.questions(recipe), Answers()
    while asked != Questions():
        texts |= {locator: document(locator) for locator in asked.documents}
        files |= {question.locator: fetch(question) for question in asked.files}
        artifacts = {locator: artifact for locator, (artifact, _) in files.items()}
        answers = Answers(documents=texts, files=artifacts)
        asked = python_uv.further(recipe, answers)
    part = python_uv.part(recipe, answers)
    _, archive = files[part.pieces[0].artifact.locator]
    names: list[str] = []

    def wanted(name: str) -> bool:
        names.append(name)
        return is_asked(name)

    python = locked_python(part, read_members(archive, wanted, strip=part.pieces[0].strip), names)
    return Managed(described(part, python), python, archive)
