"""ninja's own log: what ran when, over restarts, rewrites and whatever else a killed build leaves."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.report.ninja_log import LogEdge, NinjaLog, UnreadableLogError, parse_ninja_log

BEGAN_MS = 1_795_992_802_000
HOUR_MS = 3_600_000


def row(output: str, start: int, end: int, *, began: int = BEGAN_MS, command: str = "") -> str:
    """A line as ninja 1.13 writes it."""
    return f"{start}\t{end}\t{(began + start) * 1_000_000}\t{output}\t{command or output}"


def log(*rows: str, version: int = 7) -> NinjaLog:
    """All that is in a file with these lines."""
    return parse_ninja_log("\n".join([f"# ninja log v{version}", *rows, ""]))


def test_each_edge_has_its_time() -> None:
    """Start, end and name are those of the file; when ninja began is told by its file times."""
    (run,) = log(row("a.o", 5, 1005), row("b.o", 5, 2505)).runs

    assert run.edges == (LogEdge("a.o", 1, 5, 1005), LogEdge("b.o", 1, 5, 2505))
    assert run.edges[0].seconds == 1.0
    assert (run.began_ms, run.end_ms) == (BEGAN_MS, 2505)


@pytest.mark.parametrize("version", [5, 6, 7])
def test_three_formats_are_read(version: int) -> None:
    """What ninja 1.10 wrote can be shown as what 1.13 writes."""
    read = log(row("a.o", 0, 10), version=version)

    assert (read.version, read.runs[0].edges) == (version, (LogEdge("a.o", 1, 0, 10),))


@pytest.mark.parametrize(
    "head", ["", "# ninja log v4", "# ninja log v12", "# ninja log vx", "<html>", "# ninja log v"]
)
def test_another_format_is_refused(head: str) -> None:
    """It is said, and not shown as an empty build."""
    with pytest.raises(UnreadableLogError):
        parse_ninja_log(f"{head}\n{row('a.o', 0, 1)}\n")


def test_many_outputs_of_one_command_are_one_edge() -> None:
    """A generator of a thousand headers ran once."""
    (run,) = log(*(row(f"h{number}.h", 0, 9, command="gen") for number in range(1000))).runs

    assert run.edges == (LogEdge("h0.h", 1000, 0, 9),)


def test_a_build_that_went_on_is_two_runs() -> None:
    """The second ninja counts from nought again, also where its first edge ends later than the last one."""
    first = row("a.o", 0, 100)
    earlier_end = row("b.o", 0, 50, began=BEGAN_MS + HOUR_MS)
    later_end = row("c.o", 0, 900, began=BEGAN_MS + 2 * HOUR_MS)

    runs = log(first, earlier_end, later_end).runs

    assert [[edge.output for edge in run.edges] for run in runs] == [["a.o"], ["b.o"], ["c.o"]]
    assert [run.began_ms for run in runs] == [BEGAN_MS, BEGAN_MS + HOUR_MS, BEGAN_MS + 2 * HOUR_MS]


def test_what_was_made_again_counts_as_made_last() -> None:
    """An edge that ran twice took what it took the second time."""
    read = log(row("a.o", 0, 100), row("a.o", 0, 40, began=BEGAN_MS + HOUR_MS))

    assert read.last() == {"a.o": LogEdge("a.o", 1, 0, 40)}


def test_nothing_is_made_twice_in_one_run() -> None:
    """Two calls within a second that took the same time are two."""
    runs = log(row("a.o", 1, 5), row("a.o", 1, 5, began=BEGAN_MS + 300)).runs

    assert [run.edges for run in runs] == [(LogEdge("a.o", 1, 1, 5),)] * 2


def test_runs_within_one_second_stay_in_their_order() -> None:
    """Which of them took longer for its first edge does not decide which was first."""
    rows = (
        row("a", 0, 55),
        row("b", 0, 51, began=BEGAN_MS + 90),
        row("a", 0, 53, began=BEGAN_MS + 180),
        row("b", 53, 104, began=BEGAN_MS + 180),
    )

    assert [edge.output for run in log(*rows).runs for edge in run.edges] == ["a", "b", "a", "b"]


def test_a_rule_with_restat_begins_no_run() -> None:
    """Its file time is one while it ran: that it is later than the others' is no second ninja."""
    slow = f"0\t60000\t{(BEGAN_MS + 59_000) * 1_000_000}\tgenerated.h\tgen"

    assert len(log(row("a.o", 0, 100), slow, row("b.o", 60_000, 61_000)).runs) == 1


def test_a_log_that_was_rewritten_in_no_order_is_put_in_order() -> None:
    """It is compacted in the order of a hash table; each run is found again by its clock."""
    rows = [
        row(f"{run}-{number}.o", 10 * number, 10 * number + 9, began=BEGAN_MS + run * HOUR_MS)
        for run in range(3)
        for number in range(100)
    ]
    random.Random(7).shuffle(rows)  # noqa: S311  the same order each day

    runs = log(*rows).runs

    assert [len(run.edges) for run in runs] == [100, 100, 100]
    assert [edge.output for edge in runs[1].edges] == [f"1-{number}.o" for number in range(100)]


@pytest.mark.parametrize(
    "line",
    [
        "1\t2",
        "1\t2\t3\t\tx",
        "x\t2\t3\ta.o\tx",
        "-1\t2\t3\ta.o\tx",
        "9\t2\t3\ta.o\tx",
        f"1\t{'9' * 5000}\t3\ta.o\tx",
        "1\t2\t3\t" + "a" * 5000 + "\tx",
        "1\t99999999999999\t3\ta.o\tx",
        "\x00\xff",
        "²\t2\t3\ta.o\tx",
    ],
    ids=[
        "cut off",
        "no name",
        "no number",
        "below nought",
        "backwards",
        "huge",
        "long name",
        "ages",
        "bytes",
        "digit",
    ],
)
def test_what_cannot_be_is_passed_over_and_counted(line: str) -> None:
    """A line that was cut off by a kill, or put there by somebody, takes no other with it."""
    read = log(row("a.o", 0, 1), line, row("b.o", 1, 2))

    assert [edge.output for edge in read.runs[0].edges] == ["a.o", "b.o"]
    assert read.ignored == 1


@given(st.text(), st.sampled_from([5, 6, 7]))
def test_no_text_brings_it_down(text: str, version: int) -> None:
    """Whatever lies in the file is shown as far as it is a log."""
    read = parse_ninja_log(f"# ninja log v{version}\n{text}")

    assert all(edge.start_ms <= edge.end_ms for run in read.runs for edge in run.edges)


def test_the_log_of_a_real_ninja_is_read(tmp_path: Path) -> None:
    """This machine's ninja builds, goes on and builds again: three runs, each with its edges."""
    ninja = Path(sysconfig.get_path("scripts")) / "ninja"
    program = str(ninja) if ninja.exists() else shutil.which("ninja")
    if program is None:
        pytest.skip("no ninja here")
    rule = "rule copy\n  command = sleep 0.05 && cp $in $out\n"
    (tmp_path / "in").write_text("1")
    (tmp_path / "build.ninja").write_text(
        f"{rule}build a: copy in\nbuild b c: copy a\n  command = sleep 0.05 && cp a b && cp a c\n"
    )
    for number, target in enumerate(("a", "b", "b")):
        if number == 2:
            (tmp_path / "in").write_text("2")
            os.utime(tmp_path / "in", (2**31, 2**31))  # a clock's tick may be as long as all of this
        subprocess.run([program, target], cwd=tmp_path, check=True, capture_output=True)

    read = parse_ninja_log((tmp_path / ".ninja_log").read_text())

    assert [edge.output for run in read.runs for edge in run.edges] == ["a", "b", "a", "b"]
    assert read.ignored == 0
