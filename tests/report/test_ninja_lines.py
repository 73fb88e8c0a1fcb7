"""What ninja prints."""

from __future__ import annotations

import pytest

from torchbuild.report.ninja_lines import NinjaLine, parse_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[3/17] Building CXX object c10/x.cpp.o", NinjaLine(3, 17, "c10/x.cpp.o")),
        ("[3/17] Linking CXX shared library lib/libx.so", NinjaLine(3, 17, "lib/libx.so")),
        ("[3/17] /usr/bin/ccache /usr/bin/g++ -DX -o a/b.cpp.o -c /s/b.cpp", NinjaLine(3, 17, "a/b.cpp.o")),
        ("[3/17] cd /s && " + "x" * 10_000, NinjaLine(3, 17, "cd /s && " + "x" * 71)),
        ("[3/17] ", NinjaLine(3, 17, "")),
        ("[3/17]", None),
        ("ninja: no work to do.", None),
        ("/s/a.cpp:3:1: error: [1/2] x", None),
        ("[99999999999999999999/1] x", None),
        ("", None),
    ],
)
def test_an_edge_is_a_number_and_what_it_makes(text: str, line: NinjaLine | None) -> None:
    """Whether ninja prints descriptions or whole commands; a compiler's own lines are none."""
    assert parse_line(text) == line
