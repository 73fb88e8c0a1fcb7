"""How long the rest will take."""

from __future__ import annotations

import pytest

from torchbuild.report.events import Progress
from torchbuild.report.pace import Pace

MIB = 1 << 20


class Line:
    """A line over which bytes come, and a clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pace = Pace(lambda: self.now)

    def at(self, now: float, mib: float, total: float = 0, unit: str = "bytes") -> str:
        """What is said at a time."""
        self.now = now
        event = Progress(stage="fetch", done=round(mib * MIB), total=round(total * MIB), unit=unit)
        self.pace.note(event)
        return self.pace.text(event)


def test_speed_and_what_is_left_are_said() -> None:
    """In the unit that leaves few digits, and as one says a time."""
    line = Line()
    line.at(0, 0, 1000)
    line.at(2, 20, 1000)

    assert line.at(4, 40, 1000) == "10.0 MiB/s, 1 min 36 s left"


def test_without_a_total_there_is_a_speed_alone() -> None:
    """What nobody can know is not made up."""
    line = Line()
    line.at(0, 0)
    line.at(2, 4)

    assert line.at(4, 8) == "2.0 MiB/s"


def test_nothing_is_said_before_a_second_was_seen() -> None:
    """A first chunk is no speed."""
    line = Line()

    assert line.at(0, 0, 10) == ""
    assert line.at(0.5, 5, 10) == ""


def test_what_an_earlier_run_left_did_not_come_now() -> None:
    """Parts that are gone on with are no gigabytes a second."""
    line = Line()
    line.at(0.0, 500, 1000)
    line.at(0.1, 800, 1000)
    line.at(1.9, 810, 1000)

    assert line.at(3.9, 820, 1000) == "5.0 MiB/s, 36.0 s left"


def test_a_line_that_became_slow_is_slow() -> None:
    """The last seconds count."""
    line = Line()
    for second in range(61):
        line.at(second, 100 * second, 100_000)
    for second in range(61, 91):
        said = line.at(second, 6000 + (second - 60), 100_000)

    assert said.startswith("1.0 MiB/s")


def test_a_line_that_stands_still_is_said_to() -> None:
    """Speed falls while nothing comes; nobody knows then how long the rest will take."""
    line = Line()
    line.at(0, 0, 100)
    line.at(2, 20, 100)
    event = Progress(stage="fetch", done=20 * MIB, total=100 * MIB, unit="bytes")
    line.now = 200.0

    assert line.pace.text(event) == "0 B/s"


@pytest.mark.parametrize("unit", ["edges", "files"])
def test_other_units_have_no_speed(unit: str) -> None:
    """Objects and files differ too much."""
    line = Line()
    line.at(0, 0, 100, unit)

    assert line.at(10, 20, 100, unit) == ""


def test_another_count_begins_anew() -> None:
    """A count that falls belongs to another file."""
    line = Line()
    line.at(0, 0, 100)
    line.at(5, 90, 100)

    assert line.at(6, 1, 100) == ""
    assert line.at(9, 4, 100).startswith("1.0 MiB/s")


def test_the_end_has_nothing_left() -> None:
    """The last line says how fast it was."""
    line = Line()
    line.at(0, 0, 40)
    line.at(2, 20, 40)

    assert line.at(4, 40, 40) == "10.0 MiB/s"


def edges(line: Line, now: float, left_s: float | None) -> str:
    """What is said when a stage tells how long it still takes, or tells nothing new."""
    line.now = now
    event = Progress(stage="compile", done=1, total=9, unit="edges", left_s=left_s)
    line.pace.note(event)
    return line.pace.text(event)


def test_what_a_stage_knows_of_its_edges_is_said_and_counts_down() -> None:
    """Between two estimates the time goes on; one that was too short does not become nothing."""
    line = Line()

    assert edges(line, 0, None) == ""
    assert edges(line, 10, 90.0) == "1 min 30 s left"
    assert edges(line, 40, None) == "1 min 00 s left"
    assert edges(line, 50, 200.0) == "3 min 20 s left"
    assert edges(line, 900, None) == "1.0 s left"
    assert edges(line, 901, 0.0) == ""
