"""What is kept of memory over time, while a build runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchbuild.shim.samples import MOST_LINES, Samples


def lines(path: Path) -> list[dict[str, Any]]:
    """What is in the file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_look_is_a_line(tmp_path: Path) -> None:
    """It is there at once: a build that is killed a moment later has it."""
    path = tmp_path / "samples.jsonl"
    samples = Samples(str(path))

    samples.add(1.26, 5, 2, tokens=4)

    assert lines(path) == [{"t": 1.3, "memory": 5, "running": 2, "tokens": 4}]


def test_the_file_is_bounded_and_no_peak_is_lost(tmp_path: Path) -> None:
    """A build of a day leaves as many lines as one of an hour; the highest is among them."""
    path = tmp_path / "samples.jsonl"
    samples = Samples(str(path))
    peak = 7777

    for second in range(6 * MOST_LINES):
        samples.add(float(second), 10**9 if second == peak else second % 1000, 1)
    samples.flush()

    kept = lines(path)
    assert MOST_LINES // 2 <= len(kept) <= MOST_LINES
    assert 10**9 in [line["memory"] for line in kept]
    assert [line["t"] for line in kept] == sorted(line["t"] for line in kept)
    assert kept[-1]["t"] >= 6 * MOST_LINES - 16


def test_an_earlier_run_is_gone_on_with(tmp_path: Path) -> None:
    """What a killed build left stays; the half of a line that it left goes."""
    path = tmp_path / "samples.jsonl"
    path.write_text('{"t": 1, "memory": 3, "running": 1}\n{"t": 2, "mem')

    Samples(str(path)).add(3.0, 4, None)

    assert [line["t"] for line in lines(path)] == [1, 3.0]


@pytest.mark.parametrize(
    "content", ["[]\n3\n\x00", '{"memory": "x"}\n', "{" * 3000], ids=["others", "text", "deep"]
)
def test_what_is_no_sample_goes(tmp_path: Path, content: str) -> None:
    """A file that something else wrote is begun anew."""
    path = tmp_path / "samples.jsonl"
    path.write_text(content)

    Samples(str(path)).add(3.0, 4, None)

    assert [line["t"] for line in lines(path)] == [3.0]


def test_a_place_that_takes_nothing_stops_no_build(tmp_path: Path) -> None:
    """No build fails for want of a picture."""
    samples = Samples(str(tmp_path / "gone" / "samples.jsonl"))

    samples.add(1.0, 2, 3)
    samples.flush()

    assert not (tmp_path / "gone").exists()
