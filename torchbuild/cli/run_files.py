"""A run's files, found by what a person calls it: its report, and what its timeline is made of."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from torchbuild.cache_used import STATSLOG
from torchbuild.cli.revisit import unknown_run
from torchbuild.edges.atomic import write_text
from torchbuild.edges.workspace import DirectoryWorkspace
from torchbuild.errors import HostError, TorchbuildError, UsageError
from torchbuild.report.build_graph import parse_build_ninja
from torchbuild.report.cache_calls import parse_statslog
from torchbuild.report.live_estimate import BUILD_NINJA, NINJA_LOG
from torchbuild.report.ninja_log import UnreadableLogError, parse_ninja_log
from torchbuild.report.samples import parse_samples
from torchbuild.report.summary import RunReport
from torchbuild.report.timeline import Timeline, timeline_of
from torchbuild.report.timeline_html import timeline_html
from torchbuild.report.timeline_trace import timeline_trace
from torchbuild.resolve.orders import BUILD_DIR, SAMPLES

if TYPE_CHECKING:
    from torchbuild.cli.places import Places
    from torchbuild.report.redaction import Redactor

__all__ = ["FoundRun", "find_run", "timeline_for", "write_timeline"]

_REPORT, _NOTE = "report.json", "about.json"
_MOST_BYTES = 1 << 29
"""No file that a timeline is made of is larger."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundRun:
    """A run that was built here, or whose report came here."""

    name: str
    """Of the run."""
    report: RunReport | None
    """What it left; None where it did not end."""
    workspace: Path | None
    """Where it was built; None where that is not on this machine."""


def find_run(run: str, here: Places) -> FoundRun:
    """By name, else by path.

    Raises:
        UsageError: ``run-unknown``, ``report-unreadable``.
    """
    named = here.builds / run
    path = named if "/" not in run and _is_file(named / _NOTE) else Path(run)
    file = path / _REPORT
    if run and (_is_file(path / _NOTE) or _is_file(file)):
        report = _report(file) if _is_file(file) else None
        return FoundRun(name=report.run if report else path.resolve().name, report=report, workspace=path)
    if not _is_file(path):
        raise unknown_run(run, here.builds)
    report = _report(path)
    places = [path.parent, *([here.builds / report.run] if "/" not in report.run else [])]
    workspace = next((place for place in places if _is_file(place / _NOTE)), None)
    return FoundRun(name=report.run, report=report, workspace=workspace)


def _is_file(path: Path) -> bool:
    """What cannot be looked at is not there: whoever typed it is told."""
    try:
        return path.is_file()
    except OSError:
        return False


def _report(path: Path) -> RunReport:
    try:
        with path.open("rb") as handle:
            return RunReport.model_validate_json(handle.read(_MOST_BYTES))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _unreadable(path, f"{place}: {first['msg']}" if place else first["msg"]) from error


def _unreadable(path: Path, seen: str) -> UsageError:
    return UsageError(
        "report-unreadable",
        f"{path}: no report of a run can be read there",
        why=(f"seen: {seen}", "wanted: a report.json that this version of torchbuild wrote"),
        fix="Name a run that `torchbuild store` lists, or its report.json.",
    )


def timeline_for(found: FoundRun, here: Places, clean: Redactor, *, is_needed: bool) -> Timeline | None:
    """What its compilation did over time; None where no log of ninja is left.

    Args:
        found: the run.
        here: where store and caches are.
        clean: takes the secrets out of the names of edges.
        is_needed: whether somebody asked for it.

    Raises:
        UsageError: ``timeline-unavailable``, where it is needed.
    """
    try:
        timeline = _timeline(found, here)
    except UnreadableLogError as error:
        if is_needed:
            raise _unavailable(found, str(error)) from error
        return None
    if timeline is None:
        if is_needed:
            raise _unavailable(found, "no .ninja_log in its build tree, or no workspace on this machine")
        return None
    return _redacted(timeline, clean)


def _timeline(found: FoundRun, here: Places) -> Timeline | None:
    if found.workspace is None:
        return None
    workspace = DirectoryWorkspace(found.workspace, here.store, here.compiler_cache)

    def read(path: str) -> str | None:
        try:
            place = workspace.inside(path)
            if place.is_symlink() or not place.is_file():  # a pipe that a build left would keep us waiting
                return None
            with place.open("rb") as handle:
                return handle.read(_MOST_BYTES).decode("utf-8", "replace")
        except (OSError, TorchbuildError):
            return None

    log = read(f"{BUILD_DIR}/{NINJA_LOG}")
    graph = read(f"{BUILD_DIR}/{BUILD_NINJA}")
    if log is None:
        return None
    return timeline_of(
        parse_ninja_log(log),
        title=found.name,
        graph=None if graph is None else parse_build_ninja(graph),
        calls=parse_statslog(read(STATSLOG) or ""),
        samples=parse_samples(read(SAMPLES) or ""),
    )


def _unavailable(found: FoundRun, seen: str) -> UsageError:
    return UsageError(
        "timeline-unavailable",
        f"{found.name}: there is nothing to make a timeline of",
        why=f"seen: {seen}",
        fix="Name a run whose workspace is here and that compiled something: `torchbuild store` lists them.",
    )


def _redacted(timeline: Timeline, clean: Redactor) -> Timeline:
    """All names at once: there may be ten thousand."""
    names = clean.redact("\n".join(span.output.replace("\n", " ") for span in timeline.spans)).split("\n")
    if len(names) != len(timeline.spans):  # a secret with a line's end in it: one by one
        names = [clean.redact(span.output) for span in timeline.spans]
    spans = tuple(span._replace(output=name) for span, name in zip(timeline.spans, names, strict=True))
    return dataclasses.replace(timeline, spans=spans, title=clean.redact(timeline.title))


def write_timeline(
    timeline: Timeline, found: FoundRun, page: Path | None, trace: Path | None
) -> dict[str, Path]:
    """Write what was asked for; where nothing was, both beside the report, if that place takes them.

    Raises:
        HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``, of a file that was named.
    """
    if page is None and trace is None and found.workspace is not None:
        try:
            return write_timeline(
                timeline, found, found.workspace / "timeline.html", found.workspace / "timeline.trace.json"
            )
        except HostError:  # another user's run is read all the same
            return {}
    files: dict[str, Path] = {}
    if page is not None:
        write_text(page, timeline_html(timeline))
        files["page"] = page
    if trace is not None:
        write_text(trace, timeline_trace(timeline))
        files["trace"] = trace
    return files
