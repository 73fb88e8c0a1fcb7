"""Lines, however the pipe cuts the bytes."""

from __future__ import annotations

import pytest

from torchbuild.edges.lines import LineSplitter


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_do_not_depend_on_how_bytes_arrive(size: int) -> None:
    """The same bytes give the same lines, however the pipe cuts them, in the middle of a character too."""
    data = "a\r\nbé\r\rc\n\n\rd\r\n\r\ne☃".encode()
    splitter = LineSplitter()
    lines: list[str] = []
    for start in range(0, len(data), size):
        lines += splitter.feed(data[start : start + size])
    lines += splitter.end()
    assert lines == ["a", "bé", "c", "", "d", "", "e☃"]


def test_long_line_is_cut_and_not_lost() -> None:
    """A line longer than memory should hold arrives in pieces, all of it."""
    splitter = LineSplitter()
    pieces = splitter.feed(b"x" * 150_000) + splitter.feed(b"y\n") + splitter.end()
    assert "".join(pieces) == "x" * 150_000 + "y"
