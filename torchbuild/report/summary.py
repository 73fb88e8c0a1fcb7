"""``report.json``: what a build did and what came out, for people and programs to keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import Field

from torchbuild.errors import TorchbuildError
from torchbuild.model.artifact import Sha256
from torchbuild.model.finding import Finding
from torchbuild.model.frozen import Frozen
from torchbuild.report.redaction import Redactor

__all__ = ["ErrorReport", "RunReport", "StageReport", "WheelReport", "write_report"]


class StageReport(Frozen):
    """One stage of a run."""

    stage: str
    """Its name."""
    outcome: Literal["done", "reused", "failed", "stopped"]
    """``reused``: done by an earlier run and intact."""
    key: str = ""
    """The digest of all that decides its outcome."""
    seconds: float
    """Wall time in this run."""
    log: str = ""
    """Its complete log, relative to the run's directory."""
    findings: tuple[Finding, ...] = ()
    """Every check, those that were not run included."""
    evidence: dict[str, str | int | float] = Field(default_factory=dict)
    """What was read back: digests, counts, versions."""


class WheelReport(Frozen):
    """The wheel."""

    path: str
    """Where it lies."""
    sha256: Sha256
    """Digest of all its bytes."""
    size: int
    """Bytes."""


class ErrorReport(Frozen):
    """The error that ended the run."""

    reference: str
    """What ``torchbuild explain`` takes."""
    exit_code: int
    """The command's."""
    what: str
    """One line."""
    why: tuple[str, ...] = ()
    """Values seen and wanted."""
    fix: str
    """What to do."""
    evidence: tuple[str, ...] = ()
    """Lines of a log, oldest first."""
    link: str = ""
    """A file with more."""

    @classmethod
    def of(cls, error: TorchbuildError) -> ErrorReport:
        """What the report keeps of an error."""
        return cls(
            reference=error.reference,
            exit_code=error.exit_code,
            what=error.what,
            why=tuple(error.why),
            fix=error.fix,
            evidence=tuple(error.evidence),
            link=error.link,
        )


class RunReport(Frozen):
    """One run of a build."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    """Version of this format."""
    run: str
    """The run's name."""
    recipe: str
    """The recipe's name."""
    outcome: Literal["done", "failed", "stopped"]
    """How it ended."""
    started: str
    """ISO 8601, in UTC."""
    seconds: float
    """Wall time."""
    tool: str
    """Version of torchbuild."""
    is_dev: bool = False
    """Whether it ran in a workspace that people edit in."""
    allowed: tuple[str, ...] = ()
    """What went past the rule that a build reaches nothing: endpoints through the relay, ``open-network``."""
    despite: tuple[str, ...] = ()
    """What it, or an earlier run in its workspace, was told to go on in spite of: preflights by reference."""
    unpinned: tuple[str, ...] = ()
    """Inputs that nobody could pin."""
    preflights: tuple[Finding, ...] = ()
    """What was looked at before anything was fetched; none where nothing had to be done."""
    stages: tuple[StageReport, ...]
    """In the order in which they ran."""
    not_run: tuple[str, ...] = ()
    """Stages that were not reached or not asked for."""
    wheel: WheelReport | None = None
    """The wheel, where there is one."""
    error: ErrorReport | None = None
    """What ended the run, where it failed."""


def write_report(
    path: Path, report: RunReport, *, write: Callable[[Path, bytes], None], redactor: Redactor
) -> None:
    """Write the report, redacted.

    Args:
        path: ``report.json``.
        report: what to write.
        write: puts bytes into a file at once or not at all.
        redactor: takes the secrets out.
    """
    redacted = redactor.redact_model(report)
    write(path, (redacted.model_dump_json(indent=2, by_alias=True) + "\n").encode())
