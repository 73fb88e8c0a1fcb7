"""`torchbuild report`: what a run did, found by whatever one calls it; its page and its trace."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ninja_builds import BEGAN_MS, build_ninja_text, log_text, many, samples_text, scheduled

from torchbuild.report.summary import RunReport, StageReport

SECONDS = many(60)
RUN = "tiny-0123456789"
REPORT = RunReport(
    run=RUN,
    recipe="tiny",
    outcome="done",
    started="2026-08-01T12:00:00+00:00",
    seconds=9.0,
    tool="0.1.0",
    stages=(StageReport(stage="compile", outcome="done", seconds=8.0, evidence={"edges": "60"}),),
)


@pytest.fixture
def ran(desk: Any) -> Path:
    """The workspace of a run that compiled sixty edges."""
    place = Path(desk.places.builds) / RUN
    build = place / "root" / "source" / "build"
    build.mkdir(parents=True)
    (place / "root" / "shim").mkdir()
    (place / "root" / "tmp").mkdir()
    (place / "about.json").write_text("{}")
    (place / "report.json").write_text(REPORT.model_dump_json(by_alias=True))
    (build / ".ninja_log").write_text(log_text(scheduled(SECONDS, 4)))
    (build / "build.ninja").write_text(build_ninja_text(list(SECONDS)))
    (place / "root" / "shim" / "samples.jsonl").write_text(samples_text(20.0))
    (place / "root" / "tmp" / "ccache-stats.log").write_text("# /x/lib0/src/part0/file0.cpp\ncache_miss\n")
    return place


def test_a_run_is_told_by_its_name(desk: Any, ran: Path) -> None:
    """Stages, figures of the timeline; page and trace lie beside its report."""
    ended = desk.run("report", RUN)

    assert ended.code == 0
    for part in (
        f"{RUN}: done in 9.0 s",
        "compile",
        "4 at most",
        "of build.ninja",
        "memory",
        "0 of 1 calls",
        "slowest",
    ):
        assert part in ended.out
    assert str(ran / "timeline.html") in ended.out
    assert "<canvas" in (ran / "timeline.html").read_text()
    assert json.loads((ran / "timeline.trace.json").read_text())["traceEvents"]


@pytest.mark.parametrize("how", ["workspace", "report", "beside a wheel"])
def test_a_run_is_found_by_its_files(desk: Any, ran: Path, how: str) -> None:
    """Whatever of it is at hand: the folder, its report, or the report that was published with the wheel."""
    elsewhere = desk.folder / "x.report.json"
    elsewhere.write_bytes((ran / "report.json").read_bytes())
    named = {"workspace": ran, "report": ran / "report.json", "beside a wheel": elsewhere}[how]

    ended = desk.run("report", named, "--json")

    assert (ended.json["run"], ended.json["timeline"]["edges"]) == (RUN, 60)
    assert ended.json["report"]["outcome"] == "done"


def test_files_go_where_they_are_asked_for(desk: Any, ran: Path) -> None:
    """Only what was asked for is written."""
    ended = desk.run("report", RUN, "--html", "page.html", "--json")

    assert ended.json["files"] == {"page": "page.html"}
    assert (desk.folder / "page.html").is_file()
    assert not (ran / "timeline.html").exists()


def test_a_run_that_was_killed_has_a_timeline(desk: Any, ran: Path) -> None:
    """There is no report yet; what it compiled is shown."""
    (ran / "report.json").unlink()

    ended = desk.run("report", RUN)

    assert ended.code == 0
    assert "no report" in ended.out
    assert "4 at most" in ended.out


def test_a_report_from_another_machine_has_no_timeline(desk: Any) -> None:
    """What it says is told; a page that is asked for cannot be made, and that is an error."""
    (desk.folder / "x.report.json").write_text(REPORT.model_dump_json(by_alias=True))

    assert "no timeline" in desk.run("report", "x.report.json").out
    refused = desk.run("report", "x.report.json", "--html", "page.html")
    assert (refused.code, "error[timeline-unavailable]" in refused.err) == (2, True)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 99}', "\x00" * 10, "[" * 100_000])
def test_what_is_no_report_is_said(desk: Any, content: str) -> None:
    """Damaged, empty, or another version's: told with what was seen."""
    (desk.folder / "report.json").write_text(content)

    ended = desk.run("report", "report.json")

    assert (ended.code, "error[report-unreadable]" in ended.err) == (2, True)


@pytest.mark.parametrize(
    "run", ["", "nothing", "../..", "a\0b", "x" * 5000, "/dev/null"], ids=lambda text: repr(text[:9])
)
def test_what_is_no_run_is_said(desk: Any, run: str) -> None:
    """With the nearest names, as in `torchbuild shell`."""
    ended = desk.run("report", run)

    assert (ended.code, "error[run-unknown]" in ended.err) == (2, True)


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "other format"])
def test_what_a_build_left_in_the_place_of_its_log_is_no_harm(desk: Any, ran: Path, kind: str) -> None:
    """A pipe keeps nobody waiting, a link shows no other file, another format is no timeline."""
    log = ran / "root" / "source" / "build" / ".ninja_log"
    log.rename(log.with_name("kept"))
    if kind == "pipe":
        os.mkfifo(log)
    elif kind == "link":
        log.symlink_to("kept")
    elif kind == "folder":
        log.mkdir()
    else:
        log.write_text("# ninja log v99\n")

    assert "no timeline" in desk.run("report", RUN).out
    assert "error[timeline-unavailable]" in desk.run("report", RUN, "--trace", "t.json").err


def test_no_secret_is_in_what_is_written(desk: Any, ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even as the name of an edge."""
    monkeypatch.setenv("MY_TOKEN", "planted-secret-17")
    log = ran / "root" / "source" / "build" / ".ninja_log"
    log.write_text(
        log.read_text()
        + log_text([("x/planted-secret-17.o", 0, 90_000)], began_ms=BEGAN_MS + 10**6, head=False)
    )

    ended = desk.run("report", RUN)

    written = (ran / "timeline.html").read_text() + (ran / "timeline.trace.json").read_text()
    assert "planted-secret-17" not in written + ended.out
    assert "x/" in ended.out


def test_a_place_that_cannot_be_written_is_no_harm_unless_it_was_named(desk: Any, ran: Path) -> None:
    """Another user's run is read all the same."""
    (ran / "timeline.html").mkdir()

    assert desk.run("report", RUN).code == 0
    assert desk.run("report", RUN, "--html", ran / "timeline.html").code == 2
    assert desk.run("report", RUN, "--html", "no/where/page.html").code in (0, 6)
