"""What a run leaves for its reader."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.run_report import FindingKeeper, RunEnd, report_of, write_reports
from torchbuild.errors import StageError
from torchbuild.model.finding import Finding
from torchbuild.model.stage import StageResult
from torchbuild.pipeline import STAGES, StageOutcome
from torchbuild.report.events import Found, Line
from torchbuild.report.redaction import Redactor

FINDING = Finding(reference="gate-flag", outcome="failed", what="USE_X", seen="OFF", wanted="ON")
FAILURE = StageError("gate-refused", "one value is wrong", fix="Look at the log.")


def outcome(stage: str, how: str, result: StageResult | None = None) -> StageOutcome:
    """A stage that ended."""
    return StageOutcome(stage=stage, outcome=how, key="00", seconds=1.23456, result=result)


def end(**changed: Any) -> RunEnd:
    """A run that ended."""
    fields: dict[str, Any] = {
        "run": "r-1",
        "recipe": "r",
        "started": datetime(2026, 8, 1, tzinfo=UTC),
        "seconds": 2.34567,
        "outcomes": (outcome("fetch", "done", StageResult(summary="", evidence=(("files", "3"),))),),
        "failure": None,
        "findings": {},
    }
    return RunEnd(**(fields | changed))


def test_what_was_not_reached_is_said() -> None:
    """`not run` is never silent: each stage is reported as ended or as not run."""
    report = report_of(end())

    assert [item.stage for item in report.stages] + list(report.not_run) == [item.name for item in STAGES]
    assert (report.outcome, report.seconds, report.stages[0].evidence) == ("done", 2.346, {"files": "3"})


@pytest.mark.parametrize(
    ("failure", "how", "reference"),
    [
        (FAILURE, "failed", "gate-refused"),
        (KeyboardInterrupt(), "stopped", "interrupted"),
        (ValueError("x"), "failed", "internal-error"),
    ],
    ids=["ours", "Ctrl-C", "bug"],
)
def test_the_report_says_how_a_run_ended(failure: BaseException, how: str, reference: str) -> None:
    """The report names the same error as the terminal did."""
    report = report_of(end(failure=failure))

    assert report.error is not None
    assert (report.outcome, report.error.reference) == (how, reference)


def test_a_failed_stage_keeps_what_its_checks_saw() -> None:
    """A stage that fails has no result; its findings were told on the way and are in the report."""
    keeper = FindingKeeper()
    keeper.handle(Line(stage="configure", text="x"))
    keeper.handle(Found(stage="configure", finding=FINDING))
    keeper.close()

    report = report_of(
        end(outcomes=(outcome("configure", "failed"),), failure=FAILURE, findings=keeper.by_stage)
    )

    assert report.stages[0].findings == (FINDING,)


def test_the_report_of_the_run_before_is_kept(tmp_path: Path) -> None:
    """A retry does not take away what the failed run reported."""
    write_reports(report_of(end(failure=FAILURE)), tmp_path / "report.json", Redactor())
    write_reports(report_of(end()), tmp_path / "report.json", Redactor())

    names = ("report.json", "report.1.json")
    assert [json.loads((tmp_path / name).read_text())["outcome"] for name in names] == ["done", "failed"]


def test_a_published_wheel_has_its_report_beside_it(tmp_path: Path) -> None:
    """Who gets the wheel gets what is known of it, without secrets."""
    wheel = tmp_path / "dist" / "torch-1-py3-none-any.whl"
    wheel.parent.mkdir()
    evidence = {
        "path": str(wheel),
        "sha256": "0a" * 32,
        "bytes": "7",
        "from": "https://u:hunter2hunter2@x.example/",
    }
    report = report_of(
        end(outcomes=(outcome("publish", "done", StageResult(summary="", evidence=tuple(evidence.items()))),))
    )

    write_reports(report, tmp_path / "report.json", Redactor())

    texts = {path.read_text() for path in (tmp_path / "report.json", wheel.with_suffix(".report.json"))}
    assert len(texts) == 1
    assert json.loads(texts.pop())["wheel"]["size"] == 7
    assert "hunter2hunter2" not in (tmp_path / "report.json").read_text()
