"""Text to table to recipe, whatever the text is."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date, datetime, timezone
from datetime import time as clock
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.decode import (
    MAX_NESTING,
    MAX_SIZE,
    check_sound,
    decode_recipe,
    invalid,
    parse_toml,
    wants_text,
)
from torchbuild.resolve.lines import Place
from torchbuild.resolve.load import load_recipe

KEYS = [
    *(
        "schema",
        "name",
        "extends",
        "source",
        "git",
        "ref",
        "archive",
        "sha256",
        "overlay",
        "prepare",
        "series",
    ),
    *("path", "to", "argv", "python", "version", "from", "build", "flags", "cmake", "env", "USE_X", "wheel"),
    *(
        "machine",
        "jobs",
        "companions",
        "blas",
        "provider",
        "image",
        "id",
        "verify",
        "require",
        "requires",
        "cuda",
    ),
]
SCALARS = (
    st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from([2**63, -(2**63) - 1, 2**70])
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["1.0", "x86_64", "../x", "/abs", "git", "a" * 64, "\0", "openblas", "minimal"])
    | st.sampled_from([date(2020, 1, 1), clock(1, 2), datetime(2020, 1, 1, tzinfo=timezone.utc)])  # noqa: UP017
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
TABLES = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), VALUES, max_size=8)


def _load(text: str) -> Recipe | RecipeError:
    """Any other exception fails the test that calls this."""
    try:
        return load_recipe("recipe.toml", lambda _path: text)
    except RecipeError as error:
        return error


@given(st.text(max_size=300) | st.text(alphabet='[]{}=."\n# a1-', max_size=300))
def test_any_text_is_a_recipe_or_a_clear_error(text: str) -> None:
    """No file whatever makes torchbuild fail in another way than by telling what is wrong with the file."""
    result = _load(text)

    assert isinstance(result, RecipeError)
    assert result.fix


@given(TABLES)
def test_any_table_is_a_recipe_or_a_clear_error(table: dict[str, Any]) -> None:
    """No table whatever does, either: wrong types, numbers, dates and names in every place."""
    result = _load(tomli_w.dumps(table))

    assert isinstance(result, Recipe | RecipeError)


@given(st.sampled_from(["source", "python", "build", "wheel", "verify", "machine", "image", "blas"]), TABLES)
def test_any_change_of_a_recipe_is_a_recipe_or_a_clear_error(table: str, change: dict[str, Any]) -> None:
    """What is nearly right is as safe as what is not right at all, and every problem names its key."""
    least: dict[str, Any] = {
        "schema": 1,
        "name": "a",
        "source": {"git": "g", "ref": "r"},
        "wheel": {"version": "1"},
    }
    least[table] = least.get(table, {}) | change

    result = _load(tomli_w.dumps(least))

    assert isinstance(result, Recipe) or result.reference != "recipe-invalid" or result.problems


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = ", "at end of document"),
        ("a = 1\nb = = 2", "line 2, column 5"),
        ("a = 1\na = 2", "Cannot overwrite a value"),
        ("[a]\n[a]", "line 2"),
        ('a = "\\ud800"', "line 1"),
        ("a = 1" + "0" * 5000, "4300 digits"),
        ("a = " + "[" * 100_000, "recursion"),
        ("a\x00 = 1", "line 1"),
    ],
    ids=["end", "value", "twice", "table twice", "half a character", "digits", "nesting", "NUL"],
)  # fmt: skip
def test_what_is_no_toml_is_told_with_its_place(text: str, why: str) -> None:
    """A syntax error comes with line and column, and never as a traceback."""
    with pytest.raises(RecipeError) as caught:
        parse_toml(text, "a.toml")

    assert caught.value.reference == "recipe-not-toml"
    assert why in " ".join(caught.value.why)
    assert "a.toml" in caught.value.fix


def test_a_file_beyond_all_measure_is_no_recipe() -> None:
    """A large file is refused by its size, before time is spent on reading it."""
    parse_toml("#" * MAX_SIZE, "a.toml")
    with pytest.raises(RecipeError) as caught:
        parse_toml("#" * (MAX_SIZE + 1), "a.toml")

    assert caught.value.reference == "recipe-too-large"
    assert f"seen {MAX_SIZE + 1} characters" in caught.value.why


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = 0x" + "f" * 5000, "a", 1),
        ("[b]\na = 9223372036854775808", "b.a", 2),
        ("[[b]]\n[[b]]\na = -9223372036854775809", "b[1].a", 3),
        ('\na = ["x", "y\\u0000z"]', "a[1]", 2),
        ("[" + ".".join("a" * MAX_NESTING) + "]\na = {}", ".".join("a" * MAX_NESTING), 1),
        ("[" + "a." * 40 + "a]", ".".join("a" * MAX_NESTING), 1),
        ("\n[" + "a." * 400_000 + "a]", "a." * 15 + "a", 2),
        ("\n\nx = { a" + " . 'a'" * 100_000 + " = 1 }", "a . 'a' . 'a' . 'a' . 'a' . 'a'", 3),
        ("a = " + "[" * 100 + "]" * 100, "a" + "[0]" * (MAX_NESTING - 1), 1),
    ],
    ids=[
        "digits",
        "64 bits",
        "64 bits below",
        "NUL",
        "one too deep",
        "deep header",
        "endless header",
        "endless key",
        "deep list",
    ],
)
def test_what_no_recipe_can_hold_is_refused_at_its_place(text: str, path: str, line: int) -> None:
    """A value that would break something later is refused where it stands: NUL, huge numbers, deep nesting."""
    with pytest.raises(RecipeError) as caught:
        parse_toml(text, "a.toml")

    (problem,) = caught.value.problems
    assert (caught.value.reference, problem.path, problem.line) == ("recipe-invalid", path, line)
    assert len(str(caught.value.problems)) < 1000


def test_the_largest_of_all_is_fine() -> None:
    """The bounds are those of TOML: what fits in 64 bits and in a few levels passes."""
    text = "a = 9223372036854775807\nb = -9223372036854775808\n[" + ".".join("c" * (MAX_NESTING - 2)) + "]\n"
    text += "# " + "." * 500 + "\ncommands = [" + '"a.b.c", ' * 200 + "]"

    assert parse_toml(text, "a.toml")["a"] == 2**63 - 1


def test_half_a_character_is_refused() -> None:
    """Bytes of a command line that are no UTF-8 do not get into a recipe."""
    with pytest.raises(RecipeError) as caught:
        check_sound({"a": "x\udcff"}, "--set", dict)

    assert caught.value.problems[0].seen == "'x\\udcff'"


def test_a_hostile_file_is_answered_soon() -> None:
    """A file made to be slow, within the size of a recipe, costs seconds at most."""
    began = time.process_time()
    for text in (
        "x = [" + "1," * 100_000 + "]",
        "\n".join(f"[t{n}]\na = 1" for n in range(10_000)),
        "a" * 900_000,
    ):
        assert isinstance(_load(text), RecipeError)

    assert time.process_time() - began < 10


def test_a_problem_points_at_the_file_it_stands_in(least: str) -> None:
    """Each problem has the place of its own key; the recipe's name stands in where there is none."""
    table = parse_toml(least, "a.toml") | {"name": 1, "colour": 2}

    with pytest.raises(RecipeError) as caught:
        decode_recipe(table, file="a.toml", places={"name": Place("base.toml", 7)})

    found = {item.path: (item.file, item.line) for item in caught.value.problems}
    assert found == {"name": ("base.toml", 7), "colour": ("a.toml", None)}
    assert caught.value.what == "2 problems in a.toml"


def test_one_problem_is_told_in_the_singular() -> None:
    """Messages are sentences."""
    error = invalid([Problem(path="a", seen="b", wanted="c")], "a.toml", {"a": Place("b.toml", 3)})

    assert error.what == "1 problem in a.toml"
    assert (error.problems[0].file, error.problems[0].line) == ("b.toml", 3)


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ({}, set()),
        ({"python": {"version": 3.13}}, {"python.version"}),
        ({"name": 7, "wheel": {"version": 1}}, {"name", "wheel.version"}),
        ({"build": {"flags": {"USE_X": 1.5}}}, {"build.flags.USE_X"}),
        ({"build": {"flags": {"USE_X": 1}}, "machine": {"jobs": "2"}}, set()),
    ],
)
def test_places_that_want_text_are_known(least: str, change: dict[str, Any], paths: set[str]) -> None:
    """Where only text may stand and something else does, it can be told from other mistakes."""
    assert wants_text(parse_toml(least, "a.toml") | change) == paths


def test_a_decoded_recipe_is_the_models(load: Callable[..., Recipe], least: str) -> None:
    """Lists of a file are the tuples of the value."""
    recipe = load(least + '[verify]\npackages = ["numpy"]')

    assert recipe.verify.packages == ("numpy",)
