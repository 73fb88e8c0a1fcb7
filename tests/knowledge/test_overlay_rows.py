"""Whatever stands in a user's file of facts is told clearly, and nothing of it is taken by halves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.errors import Problem
from torchbuild.knowledge.overlay_rows import MAX_SIZE, UserRow, is_checked, user_rows

SOURCED = 'source = "x"\nchecked = "unconfirmed"\n'


def problems(file: str, text: str) -> list[Problem]:
    """What is wrong with a file."""
    return [item for item in user_rows(file, text) if isinstance(item, Problem)]


@pytest.mark.parametrize(
    ("file", "text", "path", "seen"),
    [
        pytest.param("cuda", "release = 1", "release", "1", id="a list that is none"),
        pytest.param("cuda", "release = [1]", "release[0]", "1", id="a row that is none"),
        pytest.param("cuda", "installer = 1", "installer", "1", id="a single row that is none"),
        pytest.param("openmp", "runtime = 1", "runtime", "1", id="named rows that are none"),
        pytest.param("openmp", "[runtime]\ngomp = 1", "runtime.gomp", "1", id="a named row that is none"),
        pytest.param("eras", "a = 1", "a", "1", id="a file's own row that is none"),
        pytest.param(
            "cuda", '[[floor]]\ncuda = ">=14"\ndriver = "1"', "floor[0].source", "nothing", id="no source"
        ),
        pytest.param(
            "cuda",
            '[[floor]]\ncuda = ">=14"\ndriver = "1"\nsource = " "\nchecked = "unconfirmed"',
            "floor[0].source",
            '""',
            id="an empty source",
        ),
        pytest.param(
            "cuda",
            '[[floor]]\ncuda = ">=14"\ndriver = "1"\nsource = "x"\nchecked = "maybe"',
            "floor[0].checked",
            '"maybe"',
            id="no date",
        ),
        pytest.param(
            "cuda",
            '[[floor]]\ncuda = ">=14"\ndriver = "1"\nsource = "x"\nchecked = 2026-11-30',
            "floor[0].checked",
            '"2026-11-30"',
            id="a date without quotes",
        ),
        pytest.param(
            "cuda",
            f'[[floor]]\ncuda = "14 up"\ndriver = "1"\n{SOURCED}',
            "floor[0].cuda",
            '"14 up"',
            id="no range",
        ),
        pytest.param(
            "cuda",
            f'[[arch]]\nsm = "1"\nremove = true\n{SOURCED}',
            "arch[0]",
            'no row "1" of ours',
            id="none to remove",
        ),
        pytest.param(
            "cuda",
            f'[[arch]]\nsm = "90"\nremove = false\n{SOURCED}',
            "arch[0].remove",
            "false",
            id="remove = false",
        ),
        pytest.param(
            "cuda",
            '[[arch]]\nremove = true\nsm = "90"',
            "arch[0].source",
            "nothing",
            id="no reason to remove",
        ),
        pytest.param(
            "cuda",
            f'[[arch]]\nsm = "90"\ncuda = ">=1"\nremove = true\n{SOURCED}',
            "arch[0].cuda",
            '"cuda" of a row to remove',
            id="a removed row with values",
        ),
        pytest.param(
            "cuda",
            f"[installer]\nremove = true\n{SOURCED}",
            "installer.remove",
            "true",
            id="a single row gone",
        ),
        pytest.param("references", "", "", "references.toml", id="no table for users"),
        pytest.param("cmake_variables", "", "", "cmake_variables.toml", id="what the code acts out"),
        pytest.param("tables", "", "", 'a file "tables.toml"', id="the tables themselves"),
        pytest.param("cuda", "\udce4", "", "bytes that are no text", id="no text"),
        pytest.param("cuda", "x" * (MAX_SIZE + 1), "", f"{MAX_SIZE + 1} letters", id="without end"),
        pytest.param("cuda", "a = " + "[" * 100_000, "", None, id="nested without end"),
        pytest.param("cuda", "a." * 400_000 + "a = 1", "", "800005 letters", id="a key without end"),
        pytest.param("cuda", "a = " + "9" * 5000, "", None, id="a number without end"),
    ],
)
def test_what_is_wrong_is_told_with_its_path(file: str, text: str, path: str, seen: str | None) -> None:
    """The path names the row and the column; what stands there is shown; and no row of the file is wrong twice."""
    found = {item.path: item for item in problems(file, text)}

    assert path in found
    assert found[path].wanted
    assert seen is None or found[path].seen == seen
    assert len(found) == len(problems(file, text))


def test_a_key_that_does_not_print_is_refused() -> None:
    """It would stand in a lock and on a terminal."""
    row = f'[[floor]]\ncuda = ""\ndriver = "1"\n{SOURCED}'
    (found,) = problems("publishers", f'["a\\u001b[31m"]\nbase = "https://example.org/"\n{SOURCED}')

    assert "x1b" in found.seen
    assert not problems("cuda", row)


def test_the_same_key_twice_is_refused() -> None:
    """Which one would count is nobody's guess."""
    row = f'[[floor]]\ncuda = ">=14"\ndriver = "1"\n{SOURCED}'

    (found,) = problems("cuda", row + row)

    assert (found.path, found.seen) == ("floor[1]", "the same key twice")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("2026-11-30", True),
        ("unconfirmed", True),
        ("2026-02-30", False),
        ("20261130", False),
        ("", False),
        (None, False),
    ],
)
def test_when_somebody_looked_is_a_day_or_never(value: object, says: bool) -> None:
    """A day that there is, as it is written everywhere, or the one word."""
    assert is_checked(value) is says


@given(st.text(max_size=300), st.sampled_from(["cuda", "gpus", "eras", "openmp", "nothing"]))
def test_no_text_makes_it_fail(text: str, file: str) -> None:
    """Whatever a file holds becomes rows or problems."""
    assert all(isinstance(item, Problem | UserRow) for item in user_rows(file, text))
