"""The end of a build whose compiler was killed twice, the second time alone: what it took, and what helps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from torchbuild.errors import StageError

__all__ = ["is_lost", "killed_compiler"]

_LOST = re.compile(r"torchbuild: (?P<edge>.+) was killed twice, the second time alone, with (?P<mib>\d+) MiB")


def is_lost(line: str) -> bool:
    """Whether the supervisor tells there that it gives a compiler up."""
    return _LOST.fullmatch(line.strip()) is not None


def killed_compiler(lost: Sequence[str], evidence: Sequence[str], log: Path) -> StageError | None:
    """The error; None where none was given up.

    Args:
        lost: what `is_lost` found.
        evidence: the failing edge's own output.
        log: of the stage.
    """
    found = [match for match in (_LOST.fullmatch(line.strip()) for line in lost) if match]
    if not found:
        return None
    match = found[0]
    held = f"seen: it held {int(match['mib']):,} MiB when it was killed, and nothing was compiled beside it"
    others = f"further compilers that were killed so: {len(found) - 1}"
    return StageError(
        "compiler-killed",
        f"the compiler of {match['edge']} was killed twice",
        why=(held, "wanted: memory for one compiler", *([others] if len(found) > 1 else [])),
        fix="Give the build more memory: raise machine.memory_gib or the limit of the job or container, end "
        "other programs, or take another machine. What was compiled is kept.",
        evidence=tuple(evidence),
        link=str(log),
    )
