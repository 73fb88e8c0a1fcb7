"""A job of GitHub's CI: folds, annotations, and names that would be orders."""

from __future__ import annotations

import io
import re

import pytest

from torchbuild.errors import LockError, Problem, StageError
from torchbuild.model.finding import Finding
from torchbuild.report.events import (
    Activity,
    Event,
    Found,
    Line,
    Progress,
    RunFinished,
    Running,
    RunStarted,
    StageFinished,
    StageStarted,
    Warned,
)
from torchbuild.report.github import GithubConsole, command, error_command, harmless, is_github

HOSTILE = [
    "::set-output name=x::y",
    "  ::stop-commands::z",
    "\t::add-mask::a",
    "\x1b[31m::error::in colour",
    "a\n::warning::b",
    "a\r::warning::b",
    "##[set-env name=PATH]/evil",
    "x ##[error]y",
    "####[group]z",
    "%0A::error::c",
    ":::error::d",
    "\u202e::error::e",
    "\u2028::error::f",
    "x\x0b::error::g\x0c::error::h\x85::error::i",
]


def orders(text: str) -> list[str]:
    """What GitHub's runner would obey: its two syntaxes, as its parser reads a line."""
    found = []
    for line in re.split(r"\r\n|\r|\n", text):
        match = re.match(r"^\s*::([A-Za-z-]+)[^:]*(?:.*?)::", line)
        if match is not None:
            found.append(match[1])
        found += re.findall(r"##\[([^\]\s]+)[^\]]*\]", line)
    return found


def printed(*events: Event | float) -> str:
    """What the renderer prints; a number sets the clock."""
    now = [0.0]
    raw = io.BytesIO()
    console = GithubConsole(io.TextIOWrapper(raw, encoding="utf-8", newline=""), lambda: now[0])
    for event in events:
        match event:
            case float():
                now[0] = event
            case _:
                console.handle(event)
    console.close()
    return raw.getvalue().decode("utf-8")


def test_each_stage_is_a_fold() -> None:
    """Its lines are within, how it ended stands outside, and nothing is left open."""
    assert printed(
        RunStarted(run="r-1", recipe="r", stages=("fetch", "source"), workspace="/w"),
        StageStarted(stage="fetch"),
        Line(stage="fetch", text="x"),
        StageFinished(stage="fetch", outcome="done", seconds=2.1),
        StageStarted(stage="source"),
        RunFinished(run="r-1", outcome="failed", seconds=3),
    ).splitlines() == [
        "r-1: fetch, source  (/w)",
        "::group::fetch",
        "fetch: begins",
        "fetch: x",
        "::endgroup::",
        "✓ fetch  2.1 s",
        "::group::source",
        "source: begins",
        "::endgroup::",
        "✗ r-1  3.0 s",
        "  enter   torchbuild shell r-1",
    ]


def test_a_fold_is_closed_where_nobody_ends_the_stage() -> None:
    """Whatever is printed later is not hidden."""
    assert printed(StageStarted(stage="fetch")).splitlines()[-1] == "::endgroup::"


def test_findings_are_annotations() -> None:
    """Errors and warnings, with their reference; what passed or was not run is none."""
    finding = Finding(reference="glibc", outcome="failed", what="libc10.so", seen="2.39", wanted="2.28")
    said = printed(
        Found(stage="verify", finding=finding),
        Found(stage="verify", finding=finding.model_copy(update={"outcome": "warned"})),
        Found(stage="verify", finding=finding.model_copy(update={"outcome": "passed"})),
        Found(stage="verify", finding=finding.model_copy(update={"outcome": "not run"})),
        Warned(stage="source", reference="fuzzy", text="50 % fuzz"),
    ).splitlines()

    assert [line for line in said if line.startswith("::")] == [
        "::error title=glibc::glibc: failed: libc10.so (saw 2.39, wanted 2.28)",
        "::warning title=glibc::glibc: warned: libc10.so (saw 2.39, wanted 2.28)",
        "::warning title=fuzzy::50 %25 fuzz",
    ]


def test_annotations_are_few() -> None:
    """GitHub shows ten of a sort; all are told as lines."""
    said = printed(*(Warned(stage="s", reference="a-b", text=f"n{number}") for number in range(30)))

    assert said.count("::warning ") == 10
    assert said.count("! s: a-b: n") == 30


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_no_name_and_no_log_gives_an_order(name: str) -> None:
    """Whatever a tool prints or a file is called: the runner obeys nobody but us."""
    edges = (Running(name=name, seconds=1.0),)
    said = printed(
        RunStarted(run="r-1", recipe=name, stages=("compile",), workspace=name),
        StageStarted(stage="compile", log=name),
        2.0,
        Progress(stage="compile", done=5, total=9, unit="edges", what=name),
        200.0,
        Activity(stage="compile", edges=edges, running=1),
        Line(stage="compile", text=name),
        Warned(stage="", reference="a-b", text=name),
        Found(stage="c", finding=Finding(reference="a-b", outcome="failed", what=name, seen=name)),
        StageFinished(stage="compile", outcome="failed", seconds=1.0, summary=name),
        RunFinished(run="r-1", outcome="failed", seconds=1.0, wheel=name, report=name),
    )

    assert orders(said) == ["group", "warning", "error", "endgroup"]
    assert orders(harmless(name)) == []
    assert orders(harmless(f"error[x]: a\n{name}\n  |     {name}")) == []


def test_ordinary_text_stays_as_it_is() -> None:
    """Namespaces of C++ and headings are no orders."""
    text = "error: at::native::add(int)\n  ## heading [x]\nstd::vector"

    assert harmless(text) == text


def test_an_order_is_escaped_as_the_runner_unescapes() -> None:
    """Its message may have line ends; its properties end at a colon or a comma."""
    assert command("error", "a%b\nc", title="x: y, z%", line=3, col="") == (
        "::error title=x%3A y%2C z%25,line=3::a%25b%0Ac"
    )


def test_a_compilers_error_stands_at_its_line() -> None:
    """Where the compiler names file, line and column the annotation does."""
    error = StageError(
        "compile-failed",
        "compile stopped with exit code 1 at a.cpp.o",
        why="/s/aten/a.cpp:12:3: error: 'x' was not declared",
        fix="Correct it.",
        evidence=("FAILED: a.cpp.o", "::error::evil"),
    )
    assert error_command(error) == (
        "::error file=/s/aten/a.cpp,line=12,col=3,title=compile-failed::compile stopped with exit code 1 at "
        "a.cpp.o%0A/s/aten/a.cpp:12:3: error: 'x' was not declared%0ACorrect it."
    )


def test_a_recipes_mistake_stands_at_its_line() -> None:
    """As a reviewer wants it."""
    problem = Problem(path="torch.ref", file="recipe.toml", line=7, seen="x", wanted="y")
    error = LockError("lock-stale", "stale", why="w", fix="f", problems=(problem,))

    assert error_command(error).startswith("::error file=recipe.toml,line=7,title=lock-stale::stale")


def test_an_error_without_a_place_is_one_still() -> None:
    """And one that quotes hostile text is one order."""
    said = error_command(StageError("a-b", "::error::x\n::stop-commands::y", why="##[group]z", fix="f"))

    assert said.startswith("::error title=a-b::")
    assert orders(said) == ["error"]
    assert "\n" not in said


@pytest.mark.parametrize(("environ", "is_there"), [({"GITHUB_ACTIONS": "true"}, True), ({}, False)])
def test_github_is_known_by_its_variable(environ: dict[str, str], is_there: bool) -> None:
    """Which its runner sets."""
    assert is_github(environ) is is_there
