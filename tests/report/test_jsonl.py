"""Events as lines of JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from torchbuild.errors import HostError
from torchbuild.model.finding import Finding
from torchbuild.report.events import Found, Line, StageStarted
from torchbuild.report.jsonl import JsonLines, open_events, utc_now

NOON = datetime(2026, 8, 1, 12, 0, 0, 123456, tzinfo=UTC)


def test_each_event_is_one_line_with_its_time_and_kind(tmp_path: Path) -> None:
    """A program reads the file line by line, while it grows."""
    path = tmp_path / "events.jsonl"
    renderer = JsonLines(open_events(path), lambda: NOON)

    renderer.handle(StageStarted(stage="fetch", log="logs/fetch.log"))
    renderer.handle(Line(stage="fetch", text="two\nlines ä"))

    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert first == {
        "time": "2026-08-01T12:00:00.123+00:00",
        "kind": "stage-started",
        "stage": "fetch",
        "log": "logs/fetch.log",
    }
    assert second["text"] == "two\nlines ä"
    renderer.close()


def test_a_finding_is_nested(tmp_path: Path) -> None:
    """A check's outcome keeps its fields."""
    path = tmp_path / "events.jsonl"
    renderer = JsonLines(open_events(path))

    renderer.handle(
        Found(stage="verify", finding=Finding(reference="imports", outcome="not run", what="no GPU"))
    )
    renderer.close()

    assert json.loads(path.read_text())["finding"]["outcome"] == "not run"


def test_a_continued_run_keeps_what_came_before(tmp_path: Path) -> None:
    """The second run of a workspace appends."""
    path = tmp_path / "events.jsonl"
    for _ in range(2):
        renderer = JsonLines(open_events(path))
        renderer.handle(Line(stage="fetch", text="x"))
        renderer.close()

    assert len(path.read_text().splitlines()) == 2


def test_a_file_that_cannot_be_written_is_a_host_error(tmp_path: Path) -> None:
    """The reason names the file and says what to do."""
    with pytest.raises(HostError) as caught:
        open_events(tmp_path / "missing" / "events.jsonl")

    assert caught.value.reference == "not-writable"
    assert "events.jsonl" in caught.value.what


def test_a_full_disk_is_told_from_missing_rights() -> None:
    """Opening works on a full device; writing raises the operating system's error, for `Broadcast` to hear."""
    renderer = JsonLines(open_events(Path("/dev/full")))

    with pytest.raises(OSError, match="No space left"):
        renderer.handle(Line(stage="fetch", text="x"))
    with pytest.raises(OSError, match="No space left"):
        renderer.close()


def test_the_clock_is_in_utc() -> None:
    """Times of two machines can be compared."""
    assert utc_now().tzinfo is UTC
