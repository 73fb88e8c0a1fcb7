"""A run, told to a person who was not there."""

from __future__ import annotations

from ninja_builds import log_text, many, scheduled

from torchbuild.errors import StageError
from torchbuild.model.finding import Finding
from torchbuild.report.ninja_log import parse_ninja_log
from torchbuild.report.run_text import run_lines, timeline_lines
from torchbuild.report.summary import ErrorReport, RunReport, StageReport, WheelReport
from torchbuild.report.timeline import timeline_of

FAILED = Finding(reference="gate-flag", outcome="failed", what="USE_X", seen="OFF", wanted="ON")
PASSED = Finding(reference="gate-flag", outcome="passed", what="USE_Y")
NOT_RUN = Finding(reference="verify-gpu", outcome="not run", what="no GPU here")
REPORT = RunReport(
    run="r-1",
    recipe="r",
    outcome="failed",
    started="2026-08-01T12:00:00+00:00",
    seconds=750.0,
    tool="0.1.0",
    despite=("memory-short",),
    stages=(
        StageReport(stage="fetch", outcome="reused", seconds=0.1, evidence={"digest": "ab" * 32}),
        StageReport(stage="configure", outcome="failed", seconds=12.5, findings=(FAILED, PASSED, NOT_RUN)),
        StageReport(
            stage="compile",
            outcome="done",
            seconds=700,
            evidence={"peak_memory_bytes": "2147483648", "wall_seconds": "699.9", "estimate_error_at_50": "+4%", "user_seconds": "x"},
        ),
    ),
    not_run=("verify",),
    wheel=WheelReport(path="dist/x.whl", sha256="0a" * 32, size=7),
    error=ErrorReport.of(StageError("gate-refused", "it is", why="seen 1", fix="Look.")),
)  # fmt: skip


def test_a_run_reads_top_to_bottom() -> None:
    """How it ended, each stage with its time and what its checks found, the wheel, the error with its fix."""
    text = "\n".join(run_lines(REPORT))

    for part in (
        "✗ r-1: failed in 12 min 30 s",
        "despite  memory-short",
        "fetch      reused",
        "configure  12.5 s  1 check passed",
        "✗ gate-flag: failed: USE_X (saw OFF, wanted ON)",
        "○ verify-gpu: not run: no GPU here",
        "not run  verify",
        "dist/x.whl  7 B",
        "[gate-refused] it is",
        "why    seen 1",
        "fix    Look.",
    ):
        assert part in text


def test_measures_of_the_compilation_are_in_units_of_people() -> None:
    """Memory in GiB, times in minutes, and how wrong the estimate was; digests of other stages are left out."""
    lines = [" ".join(line.split()) for line in run_lines(REPORT)]

    assert {"peak memory bytes 2.0 GiB", "wall seconds 11 min 40 s", "estimate error at 50 +4%"} <= set(lines)
    assert "user seconds x" in lines
    assert not any("abab" in line for line in lines)


def test_a_report_cannot_draw_on_a_terminal() -> None:
    """It is a file that anybody may have written."""
    report = REPORT.model_copy(update={"recipe": "r\x1b[2J", "not_run": ("a\u202eb",)})

    assert all(line.isprintable() for line in run_lines(report))


def test_a_timeline_is_told_without_its_picture() -> None:
    """Its figures, and the slowest edges."""
    line = timeline_of(parse_ninja_log(log_text(scheduled(many(100), 4))), title="r-1")
    text = "\n".join(timeline_lines(line))

    assert "4 at most" in text
    assert text.count(" s  ") >= 10
    assert line.slowest()[0].output in text
