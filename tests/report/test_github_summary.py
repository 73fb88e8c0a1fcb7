"""The page of a job."""

from __future__ import annotations

from pathlib import Path

from torchbuild.model.finding import Finding
from torchbuild.report.broadcast import Broadcast
from torchbuild.report.events import (
    Event,
    Found,
    RunFinished,
    RunStarted,
    StageFinished,
    StageStarted,
    Warned,
)
from torchbuild.report.github_summary import GithubSummary
from torchbuild.report.redaction import Redactor

HOSTILE = "a|b `c` <script>x</script> [l](javascript:x)\n# h\n| d |"


def page(path: Path, *events: Event) -> str:
    """What the events leave."""
    summary = GithubSummary(path)
    for event in events:
        summary.handle(event)
    summary.close()
    return path.read_text(encoding="utf-8") if path.exists() else ""


def test_a_build_is_a_short_table(tmp_path: Path) -> None:
    """Stages with their times and checks, what was found, the wheel; after what other steps wrote."""
    path = tmp_path / "page.md"
    path.write_text("before\n", encoding="utf-8")
    passed = Finding(reference="abi", outcome="passed", what="x")

    assert page(
        path,
        RunStarted(run="r-1", recipe="torch", stages=("fetch", "verify"), workspace="/w"),
        StageStarted(stage="fetch"),
        StageFinished(stage="fetch", outcome="reused", seconds=0.0),
        Found(stage="verify", finding=passed),
        Found(stage="verify", finding=passed),
        Found(stage="verify", finding=Finding(reference="gpu", outcome="not run", what="no GPU")),
        Warned(stage="", reference="old-facts", text="checked long ago"),
        StageFinished(stage="verify", outcome="done", seconds=61.0, summary="2 checks"),
        RunFinished(run="r-1", outcome="done", seconds=70.0, wheel="/d/t.whl", report="/w/report.json"),
    ).splitlines() == [
        "before",
        "### ✓ torch: done in 1 min 10 s",
        "",
        "| stage | time | checks passed | what came out |",
        "|---|---|---|---|",
        "| ✓ fetch | reused |  |  |",
        "| ✓ verify | 1 min 01 s | 2 | 2 checks |",
        "",
        "- ○ gpu: not run: no GPU",
        r"- \! old-facts: checked long ago".replace("\\!", "\\!"),
        "- wheel: /d/t.whl",
        "- report: /w/report.json",
        "- run: r-1",
    ]


def test_hostile_text_is_text(tmp_path: Path) -> None:
    """No name makes a row, a link, a heading or a tag; a thousand findings are fifty."""
    found = [Found(stage="v", finding=Finding(reference="a-b", outcome="failed", what=HOSTILE))] * 1000
    text = page(
        tmp_path / "page.md",
        RunStarted(run="r-1", recipe=HOSTILE, stages=(), workspace="/w"),
        *found,
        StageFinished(stage="v", outcome="failed", seconds=1.0, summary=HOSTILE * 1000),
        RunFinished(run="r-1", outcome="failed", seconds=1.0, wheel=HOSTILE),
    )

    assert "<script>" not in text
    assert "](javascript" not in text
    (row,) = [line for line in text.splitlines() if line.startswith("| ✗")]
    assert row.replace(r"\|", "").count("|") == 5
    assert sum(line.startswith("#") for line in text.splitlines()) == 1
    assert "- and 950 more, see the report" in text
    assert len(text) < 60_000


def test_a_page_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """Others are told that it is left out."""

    class Kept:
        """Keeps events."""

        def __init__(self) -> None:
            self.events: list[Event] = []

        def handle(self, event: Event) -> None:
            """Keep it."""
            self.events.append(event)

        def close(self) -> None:
            """Nothing."""

    kept = Kept()
    with Broadcast(Redactor(), [GithubSummary(tmp_path / "none" / "page.md"), kept]) as told:
        told.emit(RunFinished(run="r-1", outcome="done", seconds=1.0))

    assert [event.kind for event in kept.events] == ["run-finished", "warned"]


def test_no_secret_is_on_the_page(tmp_path: Path) -> None:
    """It passes the same redaction as everything else."""
    with Broadcast(Redactor(["hunter2-and-more"]), [GithubSummary(tmp_path / "page.md")]) as told:
        told.emit(Warned(stage="", reference="a-b", text="got hunter2-and-more"))
        told.emit(RunFinished(run="r-1", outcome="done", seconds=1.0))

    assert "hunter2" not in (tmp_path / "page.md").read_text(encoding="utf-8")
