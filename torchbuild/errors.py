"""Every error this package raises: one root, one exit code a family.

A family says *who must act*. What happened is told by ``reference``, a kebab-case name that is
unique, stable and explained by ``torchbuild explain REFERENCE``. This module imports nothing
from the package, so that any room may raise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = [
    "ConflictError",
    "FetchError",
    "HostError",
    "InternalError",
    "Interrupted",
    "LockError",
    "OutOfTime",
    "Problem",
    "PublishError",
    "RecipeError",
    "StageError",
    "TorchbuildError",
    "UsageError",
    "VerifyError",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong in a file that a person wrote."""

    path: str
    """Dotted path of the key, such as ``source.patches[2]``."""
    seen: str
    """What stands there, or ``nothing``."""
    wanted: str
    """What may stand there."""
    line: int | None = None
    """Line of the file, counted from 1; None where the key does not stand in the file."""
    file: str = ""
    """The file, where several are merged."""
    suggestion: str = ""
    """The nearest key or value that would be right, or empty."""


class TorchbuildError(Exception):
    """The root. Never raised itself.

    Attributes:
        reference: kebab-case name of what happened.
        what: one line, names the file or stage.
        why: lines that give the values seen and wanted, and the fact's source.
        fix: one imperative action, a command where there is one.
        evidence: lines of a log, oldest first.
        problems: the single problems of a file, where there are several.
        link: a file with more, usually a log.
    """

    exit_code: ClassVar[int] = 70

    def __init__(
        self,
        reference: str,
        what: str,
        *,
        why: tuple[str, ...] | str = (),
        fix: str,
        evidence: tuple[str, ...] = (),
        problems: tuple[Problem, ...] = (),
        link: str = "",
    ) -> None:
        super().__init__(what)
        self.reference = reference
        self.what = what
        self.why: tuple[str, ...] = (why,) if isinstance(why, str) else why
        self.fix = fix
        self.evidence = evidence
        self.problems = problems
        self.link = link


class UsageError(TorchbuildError):
    """The caller's: bad flags, a run that does not exist."""

    exit_code = 2


class RecipeError(TorchbuildError):
    """The recipe's author's: keys, types, values, files named by the recipe."""

    exit_code = 3


class ConflictError(TorchbuildError):
    """The recipe's author's: each value is fine, facts forbid the combination."""

    exit_code = 4


class LockError(TorchbuildError):
    """The recipe's author's: the lock is missing, stale, altered or too new."""

    exit_code = 5


class HostError(TorchbuildError):
    """The machine's owner's: no engine, no compiler, no space, no rights."""

    exit_code = 6


class FetchError(TorchbuildError):
    """The network's or upstream's: not reachable, not there, not the bytes that were locked."""

    exit_code = 7


class StageError(TorchbuildError):
    """A stage ended badly: the tree's, the toolchain's or the gate's word."""

    exit_code = 8


class VerifyError(TorchbuildError):
    """The wheel is not what the lock says."""

    exit_code = 9


class PublishError(TorchbuildError):
    """The place of publication refused."""

    exit_code = 10


class InternalError(TorchbuildError):
    """Ours. Asks for a report."""

    exit_code = 70


class Interrupted(TorchbuildError):  # noqa: N818  it is the user's wish, not an error
    """Somebody pressed Ctrl-C."""

    exit_code = 130


class OutOfTime(Interrupted):
    """Nobody's: the time that the caller gave is over, and the same command goes on (sysexits' TEMPFAIL)."""

    exit_code = 75
