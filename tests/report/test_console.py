"""The live view."""

from __future__ import annotations

import io
import re
import time
from typing import TextIO

import pytest
from rich.console import Console

from torchbuild.model.finding import Finding
from torchbuild.report.console import LiveConsole, is_live, live_console
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

TERMINAL = {"TERM": "xterm-256color"}


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


class Screen:
    """A live view on a terminal of a given width that nobody looks at."""

    def __init__(self, width: int = 100, encoding: str = "utf-8") -> None:
        self.raw = io.BytesIO()
        self.clock = Clock()
        stream = io.TextIOWrapper(self.raw, encoding=encoding, errors="backslashreplace", write_through=True)
        self.console = Console(file=stream, force_terminal=True, width=width, height=20, highlight=False)
        self.view = LiveConsole(self.console, self.clock, refresh=False)

    def show(self, *events: Event | float) -> str:
        """Handle the events (a number sets the clock); the live line at the end."""
        for event in events:
            match event:
                case float():
                    self.clock.now = event
                case _:
                    self.view.handle(event)
        return self.view.now().plain

    def kept(self) -> list[str]:
        """The lines that stay, without colours."""
        self.view.close()
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self.raw.getvalue().decode("utf-8"))
        return [line.rstrip() for line in text.splitlines() if line.strip()]


START = RunStarted(run="r-1", recipe="r", stages=("fetch", "toolchain"), workspace="/w/r-1")


@pytest.mark.parametrize(
    ("environ", "live"),
    [
        (TERMINAL, True),
        (TERMINAL | {"NO_COLOR": ""}, True),
        (TERMINAL | {"CI": "false"}, True),
        (TERMINAL | {"CI": "0"}, True),
        (TERMINAL | {"NO_COLOR": "1"}, False),
        (TERMINAL | {"CI": "true"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_a_view_is_live_only_where_somebody_watches(
    terminal: TextIO, environ: dict[str, str], live: bool
) -> None:
    """Colours and redrawing are for terminals, and can be refused."""
    assert is_live(terminal, environ) is live


def test_a_terminal_gets_the_live_view(terminal: TextIO) -> None:
    """A person at a terminal sees what goes on, and gets the cursor back."""
    renderer = live_console(terminal, Clock())

    renderer.handle(START)
    renderer.handle(StageStarted(stage="fetch"))
    renderer.close()

    assert isinstance(renderer, LiveConsole)


def test_what_runs_is_shown_with_its_time_and_how_far_it_is() -> None:
    """One line: the stage, for how long, a bar, the count, what is compiled now."""
    shown = Screen().show(
        START,
        StageStarted(stage="compile"),
        Progress(stage="compile", done=431, total=1377, unit="edges", what="Building CXX object a.o"),
        750.0,
    )

    assert shown == "⠋ compile    12 min 30 s  " + "━" * 24 + "  431/1377 edges  Building CXX object a.o"


def test_bytes_have_no_bar_and_an_unknown_end_is_not_made_up() -> None:
    """Downloads say what has come; what the whole is only where it is known."""
    screen = Screen()

    first = screen.show(
        START,
        StageStarted(stage="fetch"),
        Progress(stage="fetch", done=2048, total=0, unit="bytes", what="a.whl"),
    )

    assert first == "⠋ fetch      0.0 s  2.0 KiB  a.whl"


def test_bytes_are_shown_with_their_speed() -> None:
    """How fast they come and how long the rest will take; a narrow terminal keeps its room for the name."""
    events: list[Event | float] = [START, StageStarted(stage="fetch")]
    for second in range(11):
        done, total = second * (25 << 20), 1000 << 20
        events += [
            float(second),
            Progress(stage="fetch", done=done, total=total, unit="bytes", what="x/a.whl"),
        ]

    shown = Screen().show(*events)

    assert shown.endswith("10.0 s  250.0 MiB of 1000.0 MiB  25.0 MiB/s, 30.0 s left  x/a.whl")
    assert "MiB/s" not in Screen(width=50).show(*events)


@pytest.mark.parametrize("width", [1, 5, 20, 40, 59, 60, 80])
def test_the_live_line_fits_any_terminal(width: int) -> None:
    """A narrow terminal is never wrapped into a mess: the line is cut with a sign that it was."""
    shown = Screen(width=width).show(
        START,
        StageStarted(stage="compile"),
        Progress(stage="compile", done=1, total=9, unit="edges", what="Building " + "x" * 200),
    )

    assert len(shown) <= max(width - 1, 1)
    assert shown.endswith("…")
    assert ("━" in shown) is (width >= 60)


def test_where_room_is_short_the_files_name_is_what_is_shown() -> None:
    """Of a long path the end says most."""
    shown = Screen(width=80).show(
        START,
        StageStarted(stage="compile"),
        Progress(
            stage="compile",
            done=1,
            total=9,
            unit="edges",
            what="Building CXX object caffe2/" + "x/" * 50 + "Abs.cpp.o",
        ),
    )

    assert shown.endswith("  1/9 edges  Abs.cpp.o")


def test_between_stages_nothing_is_shown() -> None:
    """What is over is above; nothing claims to run."""
    assert (
        Screen().show(
            START, StageStarted(stage="fetch"), StageFinished(stage="fetch", outcome="done", seconds=1)
        )
        == ""
    )


def test_what_is_over_stays_above() -> None:
    """Finished, reused and failed stages remain, each with its sign and what came out."""
    screen = Screen()
    screen.show(
        START,
        StageStarted(stage="fetch"),
        Found(stage="fetch", finding=Finding(reference="digests", outcome="passed", what="x")),
        Found(stage="fetch", finding=Finding(reference="mirror", outcome="not run", what="no mirror")),
        StageFinished(stage="fetch", outcome="done", seconds=2.1, summary="37 files"),
        StageStarted(stage="toolchain"),
        StageFinished(stage="toolchain", outcome="reused", seconds=0.0),
        Line(stage="source", text="\x1b[1mpatching\x1b[0m [bold]a[/bold]"),
        Warned(stage="source", reference="fuzzy", text="fuzz 2"),
        StageFinished(stage="source", outcome="failed", seconds=1.0),
        RunFinished(run="r-1", outcome="failed", seconds=3.5, report="/w/report.json"),
    )

    assert screen.kept() == [
        "r-1  /w/r-1",
        "  ○ mirror: not run: no mirror",
        "✓ fetch      2.1 s  37 files  1 check passed",
        "✓ toolchain  reused",
        "  patching [bold]a[/bold]",
        "! source: fuzzy: fuzz 2",
        "✗ source     1.0 s",
        "✗ r-1  3.5 s",
        "  report  /w/report.json",
        "  enter   torchbuild shell r-1",
    ]


def test_a_terminal_without_signs_gets_ascii() -> None:
    """A terminal that knows ASCII alone shows a readable line."""
    shown = Screen(encoding="ascii").show(
        START, StageStarted(stage="fetch"), Progress(stage="fetch", done=1, total=2, unit="edges")
    )

    assert shown == "> fetch      0.0 s  " + "#" * 12 + "-" * 12 + "  1/2 edges"


def test_what_is_left_of_a_compilation_counts_down() -> None:
    """A person sees when to come back, and that it comes nearer between two edges."""
    event = Progress(stage="compile", done=1, total=4, unit="edges", what="a.o", left_s=600.0)
    shown = Screen().show(START, StageStarted(stage="compile"), event, 60.0)

    assert shown == "⠋ compile    1 min 00 s  " + "━" * 24 + "  1/4 edges  9 min 00 s left  a.o"


BUSY = Activity(
    stage="compile",
    edges=(
        Running(name="caffe2/CMakeFiles/torch_cpu.dir/" + "x/" * 40 + "RegisterCPU.cpp.o", seconds=41.0),
        Running(name="\x1b[31m::error::\n" + "y" * 10_000, seconds=3.0, waits=True),
        *(Running(name=f"lib{number}.so", seconds=1.0) for number in range(9)),
    ),
    running=40,
    waiting=1,
    tokens=2,
    jobs=2,
    memory=9 << 30,
    memory_total=24 << 30,
    cache_hits=402,
    cache_calls=431,
)
FAR = Progress(stage="compile", done=431, total=1377, unit="edges", what="last.o", left_s=4020.0)


def test_what_runs_stands_below_with_its_time() -> None:
    """Jobs, memory, cache, and the edges that run longest; what was made last is no longer news."""
    shown = Screen(width=100).show(START, StageStarted(stage="compile"), FAR, BUSY, 750.0)

    assert shown.splitlines() == [
        "⠋ compile    12 min 30 s  " + "━" * 24 + "  431/1377 edges  54 min 30 s left",
        "  2 of 2 jobs, 1 waits for memory, 9.0 GiB of 24.0 GiB, cache 402 of 431",
        "  13 min 11 s  RegisterCPU.cpp.o",
        "        waits  ::error:: " + "y" * 31 + "…" + "y" * 40,
        "  12 min 31 s  lib0.so",
        "  12 min 31 s  lib1.so",
    ]


@pytest.mark.parametrize("width", [1, 5, 20, 40, 59, 60, 80, 100, 200])
def test_all_live_lines_fit_any_terminal(width: int) -> None:
    """Hostile names, long times, narrow windows: no line wraps, none holds a control character."""
    lines = Screen(width=width).show(START, StageStarted(stage="compile"), FAR, BUSY, 750.0).split("\n")

    assert len(lines) == 6
    assert all(len(line) <= max(width - 1, 1) and line.isprintable() for line in lines)


@pytest.mark.parametrize(
    ("width", "shown"), [(60, "54 min 30 s left"), (40, "431/1377\n  54 min 30 s left, 2 of 2 jobs")]
)
def test_a_narrow_terminal_shows_what_counts(width: int, shown: str) -> None:
    """How long it takes comes before a picture of it."""
    assert shown in Screen(width=width).show(START, StageStarted(stage="compile"), FAR, BUSY, 750.0)


@pytest.mark.parametrize(("height", "lines"), [(24, 6), (10, 4), (8, 2), (5, 1)])
def test_a_low_terminal_keeps_its_room(height: int, lines: int) -> None:
    """What is over stays to be seen."""
    screen = Screen()
    screen.console.height = height
    shown = screen.show(START, StageStarted(stage="compile"), FAR, BUSY)

    assert len(shown.splitlines()) == lines


def test_a_stage_that_is_over_takes_its_edges_along() -> None:
    """The next one does not claim that they run."""
    screen = Screen()
    screen.show(START, StageStarted(stage="compile"), FAR, BUSY)

    assert "lib0" not in screen.show(StageStarted(stage="package"))


def test_a_long_edge_moves_the_end() -> None:
    """What the stage knows now counts, and not what it said when the last edge ended."""
    late = Activity(stage="compile", edges=BUSY.edges[:1], running=1, left_s=900.0)
    shown = Screen().show(START, StageStarted(stage="compile"), FAR, 4000.0, late)

    assert "15 min 00 s left" in shown


def test_when_nothing_runs_any_more_no_end_is_promised() -> None:
    """What follows ninja in the same stage is not its work."""
    shown = Screen().show(START, StageStarted(stage="compile"), FAR, BUSY, Activity(stage="compile"), 60.0)

    assert shown == "⠋ compile    1 min 00 s  " + "━" * 24 + "  431/1377 edges  last.o"


def test_many_edges_cost_little() -> None:
    """Ten thousand edges: what the view takes for each is far below what the quickest of them takes."""
    screen = Screen(width=120)
    screen.show(START, StageStarted(stage="compile"), BUSY)
    begin = time.process_time()
    for number in range(10_000):
        screen.view.handle(
            Progress(stage="compile", done=number, total=10_000, unit="edges", what=f"{number}.o")
        )
        if number % 10 == 0:  # four a second, of edges that come from a cache
            screen.view.now()

    assert (time.process_time() - begin) / 10_000 < 0.0005
