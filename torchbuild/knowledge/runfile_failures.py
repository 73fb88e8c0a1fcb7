"""How NVIDIA's installer fails, as typed rows read from TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchbuild.knowledge.fact import Fact, facts, table_cache

__all__ = ["RunfileFailure", "runfile_failure", "runfile_failures"]


class RunfileFailure(Fact):
    """One way to fail."""

    name: str
    """Unique."""
    pattern: str
    """A regular expression, searched line by line in what was said."""
    codes: tuple[int, ...]
    """Exit codes that fit without a word; negative for a signal."""
    what: str
    """What happened."""
    fix: str
    """What to do; begins with a verb."""


@table_cache
def runfile_failures() -> tuple[RunfileFailure, ...]:
    """All that are known; the first that fits counts."""
    return facts(RunfileFailure, "runfile_failures", "failure")


def runfile_failure(said: Iterable[str], code: int) -> tuple[RunfileFailure, str] | None:
    """The failure that lines or an exit code tell of, with the line; None where nobody knows it."""
    lines = tuple(said)
    for row in runfile_failures():
        line = next((line for line in lines if re.search(row.pattern, line)), None)
        if line is not None:
            return row, line
    by_code = next((row for row in runfile_failures() if code in row.codes), None)
    return (by_code, "") if by_code else None
