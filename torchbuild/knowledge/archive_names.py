"""What the name of a publisher's archive says of the library in it."""

from __future__ import annotations

import re

from torchbuild.knowledge.fact import Fact, facts
from torchbuild.model.frozen import Frozen

__all__ = ["ArchiveName", "BuiltWith", "built_with"]


class ArchiveName(Fact):
    """One way in which archives are called."""

    name: str
    """What is called so."""
    pattern: str
    """A regular expression with a group ``cuda``, and perhaps ``version``; searched in the file's name."""


class BuiltWith(Frozen):
    """What a name says."""

    cuda: str
    """Release or major release of CUDA, such as ``12.2`` or ``12``."""
    version: str
    """The library's own; empty where the name does not say."""


def built_with(file: str) -> BuiltWith | None:
    """What the name of a file says; None where it says nothing that is known."""
    for row in facts(ArchiveName, "archive_names", "name"):
        found = re.search(row.pattern, file)
        if found is not None:
            return BuiltWith(cuda=found["cuda"], version=found.groupdict().get("version") or "")
    return None
