"""What a run leaves for its reader: ``report.json`` in the workspace, and beside a published wheel."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from torchbuild import __version__
from torchbuild.edges.atomic import write_bytes
from torchbuild.edges.previous import set_aside
from torchbuild.errors import InternalError, Interrupted, TorchbuildError
from torchbuild.model.finding import Finding
from torchbuild.model.stopped import stopped
from torchbuild.pipeline import STAGES, StageOutcome
from torchbuild.report.events import Event, Found
from torchbuild.report.redaction import Redactor
from torchbuild.report.summary import ErrorReport, RunReport, StageReport, WheelReport, write_report

__all__ = ["FindingKeeper", "RunEnd", "report_of", "write_reports"]


class FindingKeeper:
    """A renderer that keeps each stage's findings: a stage that fails has no result to hold them."""

    def __init__(self) -> None:
        self.by_stage: dict[str, list[Finding]] = defaultdict(list)

    def handle(self, event: Event) -> None:
        """Keep what a check saw."""
        if isinstance(event, Found):
            self.by_stage[event.stage].append(event.finding)

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnd:
    """How a run ended."""

    run: str
    """Its name."""
    recipe: str
    """The recipe's name."""
    started: datetime
    """When, in UTC."""
    seconds: float
    """Wall time."""
    outcomes: tuple[StageOutcome, ...]
    """Stages in the order in which they ended."""
    failure: BaseException | None
    """What ended it before its time."""
    findings: dict[str, list[Finding]]
    """What the checks of each stage saw in this run."""
    is_dev: bool = False
    """Whether it ran in a workspace that people edit in."""
    allowed: tuple[str, ...] = ()
    """What of the network it was allowed."""
    unpinned: tuple[str, ...] = ()
    """Inputs that nobody could pin."""
    despite: tuple[str, ...] = ()
    """What it was told to go on in spite of."""
    preflights: tuple[Finding, ...] = ()
    """What was looked at before anything was fetched."""


def report_of(end: RunEnd) -> RunReport:
    """The report, not yet redacted."""
    is_stopped = isinstance(end.failure, KeyboardInterrupt | Interrupted) or any(
        item.outcome == "stopped" for item in end.outcomes
    )
    ran = {item.stage for item in end.outcomes}
    return RunReport(
        schema=1,
        run=end.run,
        recipe=end.recipe,
        outcome="stopped" if is_stopped else "failed" if end.failure else "done",
        started=end.started.isoformat(timespec="seconds"),
        seconds=round(end.seconds, 3),
        tool=__version__,
        is_dev=end.is_dev,
        allowed=end.allowed,
        unpinned=end.unpinned,
        despite=end.despite,
        preflights=end.preflights,
        stages=tuple(_stage(item, end.findings.get(item.stage, [])) for item in end.outcomes),
        not_run=tuple(item.name for item in STAGES if item.name not in ran),
        wheel=_wheel(end.outcomes),
        error=None if end.failure is None else ErrorReport.of(_as_ours(end.failure)),
    )


def _as_ours(failure: BaseException) -> TorchbuildError:
    """As the boundary will show it."""
    if isinstance(failure, TorchbuildError):
        return failure
    if isinstance(failure, KeyboardInterrupt):
        return stopped("interrupt")
    return InternalError(
        "internal-error",
        f"torchbuild itself failed: {type(failure).__name__}: {failure}",
        fix="Report it with the file that the command named.",
    )


def _stage(item: StageOutcome, findings: list[Finding]) -> StageReport:
    result = item.result
    return StageReport(
        stage=item.stage,
        outcome=item.outcome,
        key=item.key,
        seconds=round(item.seconds, 3),
        log=f"logs/{item.stage}.log" if item.has_log else "",
        findings=result.findings if result else tuple(findings),
        evidence=dict(result.evidence) if result else {},
    )


def _wheel(outcomes: tuple[StageOutcome, ...]) -> WheelReport | None:
    """Where publish laid it."""
    for item in outcomes:
        if item.stage == "publish" and item.result is not None:
            seen = dict(item.result.evidence)
            return WheelReport(path=seen["path"], sha256=seen["sha256"], size=int(seen["bytes"]))
    return None


def write_reports(report: RunReport, path: Path, redactor: Redactor) -> None:
    """Write it to `path`, and as ``WHEEL.report.json`` beside a published wheel.

    What an earlier run left at `path` is kept as ``report.1.json``, and so on.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
    """
    set_aside(path)
    places = [path]
    if report.wheel is not None:
        places.append(Path(report.wheel.path).with_suffix(".report.json"))
    for place in places:
        write_report(place, report, write=write_bytes, redactor=redactor)
