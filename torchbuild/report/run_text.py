"""``report.json`` and a timeline as text, for a person who was not there."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.model.finding import Finding
from torchbuild.report.events import Found
from torchbuild.report.plain import MARKS, finding_text
from torchbuild.report.summary import RunReport, StageReport
from torchbuild.report.text import duration, printable, size
from torchbuild.report.timeline import Timeline
from torchbuild.report.timeline_html import facts_of

__all__ = ["run_lines", "timeline_lines"]

_MOST_SLOW = 10
_LABEL = 19
_OF_A_SIZE = "_bytes"
_OF_A_TIME = "_seconds"
_TOLD = ("compile",)
"""Stages whose measures a person asks for; those of others are digests."""


def run_lines(report: RunReport) -> Iterator[str]:
    """What a run did, stage by stage: times, what its checks found, the wheel, what ended it."""
    mark = MARKS[report.outcome]
    dev = ", in a workspace that people edit in" if report.is_dev else ""
    yield f"{mark} {_plain(report.run)}: {report.outcome} in {duration(report.seconds)}{dev}"
    when = f"begun {_plain(report.started)}, torchbuild {_plain(report.tool)}"
    yield f"  recipe   {_plain(report.recipe)}, {when}"
    told = {"allowed": report.allowed, "despite": report.despite, "unpinned": report.unpinned}
    yield from (f"  {label:8} {_plain(', '.join(values))}" for label, values in told.items() if values)
    yield from _findings("", report.preflights)
    for stage in report.stages:
        yield from _stage(stage)
    if report.not_run:
        yield f"  not run  {_plain(', '.join(report.not_run))}"
    if report.wheel is not None:
        yield f"  wheel    {_plain(report.wheel.path)}  {size(report.wheel.size)}"
        yield f"           sha256 {_plain(report.wheel.sha256)}"
    if report.error is not None:
        yield f"  error    [{_plain(report.error.reference)}] {_plain(report.error.what)}"
        yield from (f"    why    {_plain(line)}" for line in report.error.why)
        yield f"    fix    {_plain(report.error.fix)}"


def _plain(text: str) -> str:
    """A report is a file that anybody may have written."""
    return printable(text)


def _stage(stage: StageReport) -> Iterator[str]:
    passed = sum(finding.outcome == "passed" for finding in stage.findings)
    took = "reused" if stage.outcome == "reused" else duration(stage.seconds)
    checks = f"  {passed} check{'s' if passed > 1 else ''} passed" if passed else ""
    yield f"  {MARKS[stage.outcome]} {_plain(stage.stage):9}  {took}{checks}"
    yield from _findings(stage.stage, stage.findings)
    if stage.stage in _TOLD:
        for name, value in stage.evidence.items():
            yield f"      {_plain(name).replace('_', ' '):32} {_measure(name, value)}"


def _findings(stage: str, findings: tuple[Finding, ...]) -> Iterator[str]:
    for finding in findings:
        if finding.outcome != "passed":
            mark = MARKS["found" if finding.outcome == "failed" else finding.outcome]
            yield f"    {mark} {finding_text(Found(stage=stage, finding=finding))}"


def _measure(name: str, value: str | float) -> str:
    """In the unit that its name tells."""
    try:
        if name.endswith(_OF_A_SIZE):
            return size(int(value))
        if name.endswith(_OF_A_TIME) or name == "seconds":
            return duration(float(value))
    except (ValueError, OverflowError):
        pass
    return _plain(str(value))


def timeline_lines(timeline: Timeline) -> Iterator[str]:
    """What the timeline says without its picture."""
    yield "timeline"
    for label, value in facts_of(timeline):
        yield f"  {label:{_LABEL}} {value}"
    slow = timeline.slowest(_MOST_SLOW)
    if slow:
        yield "  slowest"
        yield from (f"    {span.seconds:8.1f} s  {_plain(span.output)}" for span in slow)
