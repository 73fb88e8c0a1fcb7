"""What each option of a torch tree means: its default, when it counts, which releases have it."""

from __future__ import annotations

from typing import Literal

from packaging.version import InvalidVersion, Version

from torchbuild.knowledge.fact import Fact, facts

__all__ = ["FlagFact", "flag_facts"]


class FlagFact(Fact):
    """One option of a tree's CMake files."""

    name: str
    """Such as ``USE_NCCL``."""
    kind: Literal["bool", "string"]
    """What it holds."""
    default: str
    """``ON`` or ``OFF``, or a string's; empty where a tree works it out."""
    when: str
    """CMake's condition, without which it is off; empty for always."""
    since: str
    """The first minor release that is known to have it; empty where nobody read it."""
    until: str
    """The first minor release without it; empty where there is none."""
    what: str
    """What it switches."""

    def is_of(self, torch: str) -> bool:
        """Whether a release has it, as far as is known; of what is no version, nobody knows."""
        try:
            release = Version(Version(torch).base_version)
        except InvalidVersion:
            return True
        is_early = bool(self.since) and release < Version(self.since)
        return not is_early and (not self.until or release < Version(self.until))


def flag_facts(torch: str = "") -> tuple[FlagFact, ...]:
    """Every option that is known, by name; with a release, those that it has as far as is known."""
    rows = facts(FlagFact, "flags", "flag")
    return tuple(row for row in rows if not torch or row.is_of(torch))
