"""The report that a build leaves."""

from __future__ import annotations

import json
from pathlib import Path

from torchbuild.errors import VerifyError
from torchbuild.model.finding import Finding
from torchbuild.report.redaction import MASK, Redactor
from torchbuild.report.summary import (
    ErrorReport,
    RunReport,
    StageReport,
    WheelReport,
    write_report,
)

REPORT = RunReport(
    run="torchlet-1a2b",
    recipe="torchlet",
    outcome="failed",
    started="2026-08-01T12:00:00+00:00",
    seconds=12.5,
    tool="0.1.0",
    stages=(
        StageReport(
            stage="fetch",
            outcome="done",
            key="00" * 32,
            seconds=2,
            log="logs/fetch.log",
            findings=(Finding(reference="digests", outcome="passed", what="37 files"),),
            evidence={"files": 37, "share": 0.5, "from": "https://u:hunter2hunter2@x.example/"},
        ),
    ),
    not_run=("verify", "publish"),
    wheel=WheelReport(path="dist/torchlet.whl", sha256="0a" * 32, size=7),
    error=ErrorReport.of(
        VerifyError("wheel-wrong", "it is", why="seen 1", fix="Look.", evidence=("x",), link="l")
    ),
)


def test_a_report_survives_its_file(tmp_path: Path) -> None:
    """What was written is what is read."""
    path = tmp_path / "report.json"
    report = REPORT.model_copy(update={"stages": ()})

    write_report(path, report, write=Path.write_bytes, redactor=Redactor())

    assert RunReport.model_validate_json(path.read_bytes()) == report
    assert json.loads(path.read_text())["schema"] == 1


def test_a_report_holds_no_secret(tmp_path: Path) -> None:
    """Evidence is redacted before it is written."""
    written = {}

    write_report(tmp_path / "r.json", REPORT, write=written.__setitem__, redactor=Redactor())

    report = json.loads(written[tmp_path / "r.json"])
    assert report["stages"][0]["evidence"] == {
        "files": 37,
        "share": 0.5,
        "from": f"https://{MASK}@x.example/",
    }
    assert report["not_run"] == ["verify", "publish"]
    assert report["error"]["reference"] == "wheel-wrong"
