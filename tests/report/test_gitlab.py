"""A job of GitLab's CI."""

from __future__ import annotations

import io
from datetime import UTC, datetime

from torchbuild.report.events import Event, Line, StageFinished, StageStarted
from torchbuild.report.gitlab import GitlabConsole, is_gitlab

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = int(NOW.timestamp())


def printed(*events: Event) -> list[str]:
    """What it prints."""
    raw = io.BytesIO()
    console = GitlabConsole(io.TextIOWrapper(raw, "utf-8", newline=""), lambda: 0.0, lambda: NOW)
    for event in events:
        console.handle(event)
    console.close()
    return raw.getvalue().decode("utf-8").split("\n")[:-1]


def test_each_stage_is_a_section() -> None:
    """Which begins and ends, as GitLab writes it; none is left open."""
    start = f"\x1b[0Ksection_start:{AT}:torchbuild-fetch[collapsed=true]\r\x1b[0Kfetch"
    end = f"\x1b[0Ksection_end:{AT}:torchbuild-fetch\r\x1b[0K"

    assert printed(
        StageStarted(stage="fetch"),
        StageFinished(stage="fetch", outcome="done", seconds=2.1),
        StageStarted(stage="fetch"),
    ) == [start, "fetch: begins", end, "✓ fetch  2.1 s", start, "fetch: begins", end]


def test_no_log_makes_a_section() -> None:
    """Sections need an escape, and no line of others has one."""
    told = printed(Line(stage="s", text=f"\x1b[0Ksection_end:{AT}:x\r\x1b[0K\nsection_start:1:y"))

    assert all("\x1b" not in line and "\r" not in line for line in told)


def test_gitlab_is_known_by_its_variable() -> None:
    """Which its runner sets."""
    assert is_gitlab({"GITLAB_CI": "true"})
    assert not is_gitlab({})
