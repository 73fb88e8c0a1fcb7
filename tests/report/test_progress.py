"""Which renderers tell of a build."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

from torchbuild.report.console import LiveConsole
from torchbuild.report.events import StageStarted
from torchbuild.report.github import GithubConsole
from torchbuild.report.github_summary import GithubSummary
from torchbuild.report.gitlab import GitlabConsole
from torchbuild.report.jsonl import JsonLines
from torchbuild.report.plain import PlainConsole
from torchbuild.report.progress import LOOKS, Look, renderers_for

TERMINAL = {"TERM": "xterm-256color"}
GITHUB = {"GITHUB_ACTIONS": "true", "CI": "true"}


@pytest.mark.parametrize(
    ("look", "environ", "kinds"),
    [
        ("auto", TERMINAL, [PlainConsole]),
        ("auto", GITHUB, [GithubConsole]),
        ("auto", {"GITLAB_CI": "true"}, [GitlabConsole]),
        ("auto", GITHUB | {"GITHUB_STEP_SUMMARY": "/x"}, [GithubConsole, GithubSummary]),
        ("auto", {"GITHUB_STEP_SUMMARY": "/x"}, [PlainConsole]),
        ("plain", GITHUB, [PlainConsole]),
        ("github", {}, [GithubConsole]),
        ("gitlab", {}, [GitlabConsole]),
        ("rich", {}, [LiveConsole]),
        ("jsonl", {}, [JsonLines]),
        ("none", GITHUB | {"GITHUB_STEP_SUMMARY": "/x"}, [GithubSummary]),
        ("none", {}, []),
    ],
    ids=str,
)
def test_a_pipe_gets_what_was_asked_for(look: Look, environ: dict[str, str], kinds: list[type]) -> None:
    """Else what suits the job; the page of GitHub wherever it wants one."""
    assert [type(item) for item in renderers_for(look, io.StringIO(), environ, lambda: 0.0)] == kinds


def test_a_terminal_gets_the_live_view(terminal: TextIO) -> None:
    """And plain lines where these are asked for."""
    (live,) = renderers_for("auto", terminal, TERMINAL, lambda: 0.0)
    (plain,) = renderers_for("plain", terminal, TERMINAL, lambda: 0.0)

    assert (type(live), type(plain)) == (LiveConsole, PlainConsole)


def test_events_as_json_leave_the_stream_open() -> None:
    """Stderr is not ours to close."""
    stream = io.StringIO()
    (lines,) = renderers_for("jsonl", stream, {}, lambda: 0.0)
    lines.handle(StageStarted(stage="fetch"))
    lines.close()

    assert json.loads(stream.getvalue())["kind"] == "stage-started"


def test_the_option_names_them_all() -> None:
    """The command line loads no renderer to know their names."""
    from torchbuild.cli.build import build

    (option,) = [item for item in build.params if item.name == "progress"]

    assert tuple(option.type.choices) == LOOKS  # type: ignore[attr-defined]


def test_rich_is_not_loaded_for_plain_lines() -> None:
    """A build in a CI system does not wait for the import of what it never shows."""
    probe = (
        "import io, sys, torchbuild.report.progress as p\n"
        "p.renderers_for('auto', io.StringIO(), {}, lambda: 0.0)\n"
        "sys.exit('rich' in sys.modules)"
    )

    root = Path(__file__).parents[2]

    assert subprocess.run([sys.executable, "-c", probe], cwd=root, check=False).returncode == 0
