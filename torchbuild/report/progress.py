"""Which renderers tell of a build while it goes on: as asked, else as the surroundings want it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, get_args

from torchbuild.report.console import is_live, live_console
from torchbuild.report.github import GithubConsole, is_github
from torchbuild.report.github_summary import GithubSummary
from torchbuild.report.gitlab import GitlabConsole, is_gitlab
from torchbuild.report.jsonl import JsonLines
from torchbuild.report.plain import PlainConsole

if TYPE_CHECKING:
    from torchbuild.report.broadcast import Renderer

__all__ = ["LOOKS", "Look", "renderers_for"]

Look = Literal["auto", "rich", "plain", "github", "gitlab", "jsonl", "none"]
LOOKS: tuple[str, ...] = get_args(Look)
"""What ``--progress`` takes."""


def renderers_for(
    look: Look, stream: TextIO, environ: Mapping[str, str], clock: Callable[[], float]
) -> list[Renderer]:
    """What shows the events, in order; the job's page of GitHub too where one is wanted.

    Args:
        look: one of `LOOKS`.
        stream: where to, usually stderr.
        environ: says where we run.
        clock: seconds that only grow.
    """
    console = _console(_look(stream, environ) if look == "auto" else look, stream, clock)
    found = [] if console is None else [console]
    page = environ.get("GITHUB_STEP_SUMMARY", "")
    if page and is_github(environ):
        found.append(GithubSummary(Path(page)))
    return found


def _look(stream: TextIO, environ: Mapping[str, str]) -> Look:
    """What suits where we run."""
    if is_github(environ):
        return "github"
    if is_gitlab(environ):
        return "gitlab"
    return "rich" if is_live(stream, environ) else "plain"


def _console(look: Look, stream: TextIO, clock: Callable[[], float]) -> Renderer | None:
    match look:
        case "rich":
            found: Renderer | None = live_console(stream, clock)
        case "github":
            found = GithubConsole(stream, clock)
        case "gitlab":
            found = GitlabConsole(stream, clock)
        case "jsonl":
            found = JsonLines(stream, closes=False)
        case "none":
            found = None
        case _:
            found = PlainConsole(stream, clock)
    return found
