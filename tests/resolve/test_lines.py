"""Where keys stand."""

from __future__ import annotations

import time
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.resolve.lines import Place, key_lines, place_of

TEXT = '''\
# a comment = 1
schema = 1
python.version = "3.13"  # dotted

[source]   # the tree
git = "x"
[[source.overlay]]
to = "a"
[[ source . overlay ]]
"to" = "b"
'path' = "/c"

[build]
flags = { USE_A = true, USE_B = [
  false ] }
requires = [
  "x",
  [1]
]
type = "Release"
[build.env]
A = """
[not.a.table]
name = 1
"""
B = 'one # no comment'
C = \'\'\'
D = 1 \'\'\'
E = 1

[[companions]]
package = "a"
[companions.source]
git = "y"
[[companions.source.overlay]]
to = "z"
[[companions]]
[companions.source]
git = "y"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("schema", 2),
        ("python", 3),
        ("python.version", 3),
        ("source", 5),
        ("source.git", 6),
        ("source.overlay[0]", 7),
        ("source.overlay[0].to", 8),
        ("source.overlay[1]", 9),
        ("source.overlay[1].to", 10),
        ("source.overlay[1].path", 11),
        ("build.flags", 14),
        ("build.requires", 16),
        ("build.type", 20),
        ("build.env.A", 22),
        ("build.env.B", 26),
        ("build.env.E", 29),
        ("companions[0].package", 32),
        ("companions[0].source.git", 34),
        ("companions[0].source.overlay[0].to", 36),
        ("companions[1]", 37),
        ("companions[1].source.git", 39),
    ],
)
def test_each_key_is_found_where_it_stands(path: str, line: int) -> None:
    """Tables, lists of tables, dotted and quoted keys each have the line that an editor shows."""
    tomllib.loads(TEXT)

    assert key_lines(TEXT)[path] == line


@pytest.mark.parametrize("path", ["name", "not", "not.a.table", "x", "build.env.D", "1", "a comment"])
def test_what_is_inside_a_value_is_no_key(path: str) -> None:
    """A line of a long string or of a list is not taken for a key or a table."""
    assert path not in key_lines(TEXT)


def test_only_a_line_feed_ends_a_line() -> None:
    """Characters that Python takes for the end of a line, and editors do not, do not shift the numbers."""
    text = "# \u2028 \u2029 \u0085\r\na = '\u2028\u0085'\r\nb = 1\r\n"
    tomllib.loads(text)

    assert key_lines(text) == {"a": 2, "b": 3}


@given(st.text(alphabet="ab.[]{}\"'#=\\ \n\t1", max_size=200) | st.text(max_size=200))
def test_any_text_has_lines(text: str) -> None:
    """Looking for a place never fails, whatever the text is: it is done while telling of another error."""
    count = text.count("\n") + 1

    assert all(1 <= line <= count for line in key_lines(text).values())


@pytest.mark.parametrize(
    "text",
    [
        '"""\n[' + " " * 50_000 + '\n"""',
        "[" + " " * 50_000,
        "[" + "a." * 50_000 + "a]",
        "a." * 50_000 + "a = 1",
        "a" + " " * 50_000 + "x",
        "x = " + '"' * 50_001,
        "x = " + "[" * 50_000,
        '[[a"]]\n' * 10_000,
        "[[a]]\n[a.b.c.d.e]\n" * 5_000,
    ],
    ids=["string", "open", "parts", "dotted", "spaces", "quotes", "brackets", "headers", "lists"],
)
def test_hostile_text_costs_little(text: str) -> None:
    """No text makes the search take longer than reading it a few times."""
    began = time.process_time()
    key_lines(text)

    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("path", "line"),
    [("a.b", 3), ("a.b.c", 3), ("a.b[0].c", 3), ("a.x", 1), ("a[7]", 1), ("a", 1)],
)
def test_a_key_that_is_missing_is_looked_for_in_its_table(path: str, line: int) -> None:
    """A problem with what does not stand anywhere points at the table where it would stand."""
    places = {"a": Place("f.toml", 1), "a.b": Place("f.toml", 3)}

    assert place_of(path, places) == Place("f.toml", line)


@pytest.mark.parametrize("path", ["b", "b.a", "", "[0]", "."])
def test_no_place_is_invented(path: str) -> None:
    """Where nothing encloses a key there is no line to show."""
    assert place_of(path, {"a": Place("f.toml", 1)}) is None
