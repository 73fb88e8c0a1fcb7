"""Events as plain lines."""

from __future__ import annotations

import io

import pytest

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
from torchbuild.report.plain import PlainConsole, amount, finished_text, marks_for


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def lines_of(*events: Event | float, encoding: str = "utf-8") -> list[str]:
    """What the events print; a number sets the clock."""
    clock = Clock()
    raw = io.BytesIO()
    console = PlainConsole(io.TextIOWrapper(raw, encoding=encoding), clock)
    for event in events:
        match event:
            case float():
                clock.now = event
            case _:
                console.handle(event)
    console.close()
    return raw.getvalue().decode(encoding).splitlines()


def edges(done: int, total: int = 1000) -> Progress:
    """Progress of a compile."""
    return Progress(stage="compile", done=done, total=total, unit="edges", what=f"object {done}")


def test_a_build_reads_top_to_bottom() -> None:
    """One line when a stage begins, one when it ends, and where the wheel lies."""
    assert lines_of(
        RunStarted(run="r-1", recipe="r", stages=("fetch", "source"), workspace="/w/r-1"),
        StageStarted(stage="fetch", log="/w/r-1/logs/fetch.log"),
        StageFinished(stage="fetch", outcome="done", seconds=2.1, summary="37 files"),
        StageStarted(stage="source"),
        Line(stage="source", text="\x1b[1mpatching\x1b[0m a.c"),
        Warned(stage="source", reference="fuzzy-patch", text="with fuzz 2"),
        Warned(stage="", reference="old-facts", text="checked long ago"),
        StageFinished(stage="source", outcome="reused", seconds=0.0),
        StageFinished(stage="compile", outcome="stopped", seconds=1.0),
        StageFinished(stage="package", outcome="failed", seconds=61.0, summary="no wheel"),
        RunFinished(run="r-1", outcome="failed", seconds=70, wheel="/d/r.whl", report="/w/r-1/report.json"),
    ) == [
        "r-1: fetch, source  (/w/r-1)",
        "fetch: begins  (log: /w/r-1/logs/fetch.log)",
        "✓ fetch  2.1 s  37 files",
        "source: begins",
        "source: patching a.c",
        "! source: fuzzy-patch: with fuzz 2",
        "! old-facts: checked long ago",
        "✓ source  reused",
        "■ compile  1.0 s  stopped",
        "✗ package  1 min 01 s  no wheel",
        "✗ r-1  1 min 10 s",
        "  wheel   /d/r.whl",
        "  report  /w/r-1/report.json",
        "  enter   torchbuild shell r-1",
    ]


def test_checks_that_passed_are_counted_and_all_others_are_told() -> None:
    """What was not run is never silent."""
    findings = [
        Finding(reference="abi", outcome="passed", what="x"),
        Finding(reference="tags", outcome="passed", what="x"),
        Finding(reference="gpu", outcome="not run", what="no GPU here"),
        Finding(reference="glibc", outcome="failed", what="libc10.so", seen="2.39", wanted="2.28"),
        Finding(reference="size", outcome="warned", what="large", seen="2 GiB"),
    ]

    assert lines_of(
        StageStarted(stage="verify"),
        *(Found(stage="verify", finding=finding) for finding in findings),
        StageFinished(stage="verify", outcome="failed", seconds=3.0),
        StageStarted(stage="again"),
        Found(stage="again", finding=findings[0]),
        StageFinished(stage="again", outcome="done", seconds=3.0),
    ) == [
        "verify: begins",
        "○ verify: gpu: not run: no GPU here",
        "✗ verify: glibc: failed: libc10.so (saw 2.39, wanted 2.28)",
        "! verify: size: warned: large (saw 2 GiB, wanted nothing)",
        "✗ verify  3.0 s  2 checks passed",
        "again: begins",
        "✓ again  3.0 s  1 check passed",
    ]


@pytest.mark.parametrize(
    ("summary", "checks", "text"),
    [
        ("15 checks passed, 4 not run", 15, "3.0 s  15 checks passed, 4 not run"),
        ("1 check passed", 1, "3.0 s  1 check passed"),
        ("one wheel", 2, "3.0 s  one wheel  2 checks passed"),
        ("", 0, "3.0 s"),
    ],
)
def test_what_passed_is_said_once(summary: str, checks: int, text: str) -> None:
    """A stage whose own words count its checks is not counted once more."""
    event = StageFinished(stage="verify", outcome="done", seconds=3.0, summary=summary)

    assert finished_text(event, checks) == text


def test_progress_is_told_each_five_percent() -> None:
    """A thousand objects make some twenty lines, not a thousand."""
    events: list[Event | float] = [StageStarted(stage="compile")]
    for done in range(1, 1001):
        events += [float(done), edges(done)]

    lines = lines_of(*events)

    assert lines[1:3] == [
        "compile:   3 %  30/1000 edges  object 30",
        "compile:   6 %  60/1000 edges  object 60",
    ]
    assert len(lines) == 34


def test_progress_is_told_each_half_minute_where_it_is_slow() -> None:
    """One large object does not look like a build that hangs."""
    assert lines_of(
        StageStarted(stage="compile"), 29.0, edges(1), 30.0, edges(1), 59.0, edges(1), 61.0, edges(2)
    ) == [
        "compile: begins",
        "compile:   0 %  1/1000 edges  object 1",
        "compile:   0 %  2/1000 edges  object 2",
    ]


def test_progress_is_never_told_twice_in_a_second() -> None:
    """Many small files do not flood a log."""
    assert lines_of(StageStarted(stage="compile"), edges(500), 0.5, edges(900), 1.0, edges(950)) == [
        "compile: begins",
        "compile:  95 %  950/1000 edges  object 950",
    ]


def test_progress_starts_again_with_the_next_file() -> None:
    """A count that falls belongs to another file."""
    first = Progress(stage="fetch", done=95, total=100, unit="bytes", what="a")
    second = Progress(stage="fetch", done=1, total=100, unit="bytes", what="b")
    third = Progress(stage="fetch", done=7, total=100, unit="bytes", what="b")

    assert lines_of(StageStarted(stage="fetch"), 2.0, first, 4.0, second, 6.0, third) == [
        "fetch: begins",
        "fetch:  95 %  95 B of 100 B  a",
        "fetch:   7 %  7 B of 100 B  3 B/s, 31.0 s left  b",
    ]


def test_bytes_are_told_with_their_speed() -> None:
    """Who reads a log of a download sees how long it will take."""
    events: list[Event | float] = [StageStarted(stage="fetch")]
    for second in range(41):
        done = second * (25 << 20)
        event = Progress(stage="fetch", done=done, total=1000 << 20, unit="bytes", what="cuda.tar.xz")
        events += [float(second), event]

    lines = lines_of(*events)

    assert lines[2] == "fetch:  10 %  100.0 MiB of 1000.0 MiB  25.0 MiB/s, 36.0 s left  cuda.tar.xz"
    assert lines[-1] == "fetch: 100 %  1000.0 MiB of 1000.0 MiB  25.0 MiB/s  cuda.tar.xz"


@pytest.mark.parametrize(
    ("done", "total", "unit", "said"),
    [
        (3, 0, "files", "3 files"),
        (5, 9, "checks", "5/9 checks"),
        (2048, 0, "bytes", "2.0 KiB"),
        (1, 2048, "bytes", "1 B of 2.0 KiB"),
    ],
)
def test_an_amount_is_said_in_its_unit(done: int, total: int, unit: str, said: str) -> None:
    """What nobody can know in advance is not made up."""
    assert amount(Progress(stage="x", done=done, total=total, unit=unit)) == said


def test_a_stream_that_cannot_carry_signs_gets_words() -> None:
    """A log in ASCII is readable and complete."""
    assert lines_of(
        StageFinished(stage="fetch", outcome="done", seconds=1),
        StageFinished(stage="source", outcome="failed", seconds=1),
        encoding="ascii",
    ) == ["ok fetch  1.0 s", "FAILED source  1.0 s"]


@pytest.mark.parametrize("encoding", [None, "no-such-encoding", "latin-1"])
def test_an_unknown_encoding_is_taken_as_poor(encoding: str | None) -> None:
    """Where we cannot know, words are safe."""
    assert marks_for(encoding)["done"] == "ok"


def test_no_line_holds_a_control_character() -> None:
    """Whatever a tool printed, a log stays text."""
    lines = lines_of(
        RunStarted(run="r", recipe="r", stages=(), workspace="/w\x1b[2J"),
        Line(stage="x", text="a\rb\x07"),
        Warned(stage="x", reference="y", text="\x1b]0;t\x07z"),
        StageFinished(stage="x", outcome="done", seconds=1, summary="\x1b[5mblink"),
        RunFinished(run="r", outcome="done", seconds=1, wheel="/w\x1b[2J", report="\x08"),
    )

    assert all(line.isprintable() for line in lines)


def test_what_is_left_of_a_compilation_is_told() -> None:
    """In a log of a CI system too, where nothing is redrawn."""
    event = edges(500).model_copy(update={"left_s": 1234.0})

    assert lines_of(StageStarted(stage="compile"), 60.0, event)[1:] == [
        "compile:  50 %  500/1000 edges  20 min 34 s left  object 500"
    ]


def busy(*names: str) -> Activity:
    """What goes on in a compile."""
    edges = tuple(Running(name=name, seconds=41.0) for name in names)
    return Activity(stage="compile", edges=edges, running=len(edges), tokens=2, jobs=2)


def test_what_runs_is_told_beside_how_far_it_is() -> None:
    """Jobs and edges; not what was made last."""
    assert lines_of(StageStarted(stage="compile"), busy("x/a.o", "b.o"), 2.0, edges(100)) == [
        "compile: begins",
        "compile:  10 %  100/1000 edges  2 of 2 jobs  now x/a.o (41.0 s), b.o (41.0 s)",
    ]


def test_one_long_edge_is_no_silence() -> None:
    """A log of a CI system that says nothing for ten minutes is ended as hung: each minute has a line."""
    events: list[Event | float] = [StageStarted(stage="compile"), 2.0, edges(100)]
    for second in range(10, 190, 2):
        events += [float(second), busy("flash.cu.o")]

    told = lines_of(*events)[2:]

    assert told == ["compile:  10 %  100/1000 edges  2 of 2 jobs  now flash.cu.o (41.0 s)"] * 3


def test_a_stale_estimate_does_not_begin_anew() -> None:
    """What is told again because an edge is long counts down."""
    far = Progress(stage="compile", done=100, total=1000, unit="edges", left_s=600.0)
    told = lines_of(StageStarted(stage="compile"), 2.0, far, 70.0, busy("a.o"))

    assert "10 min 00 s left" in told[1]
    assert "8 min 52 s left" in told[2]


def test_what_the_stage_knows_now_counts() -> None:
    """A long edge moves the end."""
    far = Progress(stage="compile", done=100, total=1000, unit="edges", left_s=600.0)
    late = busy("a.o").model_copy(update={"left_s": 900.0})

    assert "15 min 00 s left" in lines_of(StageStarted(stage="compile"), 2.0, far, 70.0, late)[-1]


def test_hostile_names_are_short_printable_lines() -> None:
    """Ten thousand characters, colours, line ends."""
    name = "\x1b[31m\n::error::\r" + "y" * 10_000
    far = Progress(stage="compile", done=500, total=1000, unit="edges", what=name)
    told = lines_of(StageStarted(stage="compile"), 2.0, far, 4.0, busy(name, name, name), edges(900))

    assert len(told) == 3
    assert all(len(line) < 300 and line.isprintable() for line in told)
