"""What each reference means: every error, warning and check by its kebab-case name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from torchbuild.knowledge.fact import facts_file
from torchbuild.model.frozen import Frozen

__all__ = ["Reference", "references"]


class Reference(Frozen):
    """One row of ``references.toml``."""

    name: str
    """kebab-case, unique, stable."""
    family: str
    """The error's class, such as ``HostError``; ``check`` for findings, ``warning`` for warnings."""
    what: str
    """What happened, or what the check looks at."""
    why: str
    """How that comes about."""
    fix: str
    """What to do; begins with a verb."""


@cache
def references() -> Mapping[str, Reference]:
    """Every reference by name, sorted."""
    table = facts_file("references")
    return {name: Reference.model_validate({"name": name, **row}) for name, row in sorted(table.items())}
