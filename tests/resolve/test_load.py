"""Files that extend one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.load import MAX_DEPTH, load_recipe, merge

Load = Callable[..., Recipe]
Refused = Callable[..., RecipeError]

BASE = """\
schema = 1
name = "base"

[source]
archive = "debian:trixie/a/a.tar.xz"
epoch = 1738108800
patches = ["a.patch"]

[source.series]
path = "debian/patches"
exclude = ["x"]

[[source.overlay]]
path = "/usr/src/a"
to = "a"

[build]
preset = "minimal"
flags = { USE_A = true, USE_B = true }

[wheel]
version = "1.0"
"""
TOP = """\
name = "top"
extends = "base.toml"
"""


def test_tables_are_refined_key_by_key(load: Load) -> None:
    """What a recipe does not say comes from the one that it extends; its name is its own."""
    recipe = load({"recipe.toml": TOP + "[build.flags]\nUSE_B = false\nUSE_C = 1\n", "base.toml": BASE})

    assert recipe.name == "top"
    assert recipe.extends is None
    assert recipe.build.preset == "minimal"
    assert recipe.build.flags == {"USE_A": True, "USE_B": False, "USE_C": 1}
    assert recipe.source.series is not None
    assert recipe.source.series.exclude == ("x",)


def test_lists_are_replaced_whole(load: Load) -> None:
    """A list is one value: to refine it is to write it anew, and it can be emptied."""
    recipe = load(
        {
            "recipe.toml": TOP + "[source]\npatches = []\noverlay = [{ path = '/b', to = 'b' }]\n",
            "base.toml": BASE,
        }
    )

    assert recipe.source.patches == ()
    assert [item.to for item in recipe.source.overlay] == ["b"]


def test_a_recipe_that_extends_needs_a_name(problem: Callable[..., Problem]) -> None:
    """Two recipes never share a name by accident: it names their runs."""
    found = problem({"recipe.toml": 'extends = "base.toml"', "base.toml": BASE})

    assert (found.path, found.seen) == ("name", "nothing")


def test_files_are_found_from_the_file_that_names_them(load: Load) -> None:
    """`extends` is relative to the file in which it stands, over several steps."""
    files = {
        "recipe.toml": 'name = "top"\nextends = "base/cpu.toml"',
        "base/cpu.toml": 'extends = "../common/all.toml"',
        "common/all.toml": BASE,
    }

    assert load(files).wheel.version == "1.0"


@pytest.mark.parametrize(
    ("top", "path", "file", "line"),
    [
        ("", "wheel.debug", "base.toml", 23),
        ("", "build.flags.USE_X", "base.toml", 19),
        ("[wheel]\nlocal = 'A'\n", "wheel.local", "recipe.toml", 4),
        ("[build]\ntype = 'x'\n", "build.type", "recipe.toml", 4),
        ("[build]\nflags = { USE_X = 1.5 }\n", "build.flags.USE_X", "recipe.toml", 4),
        ("[build]\nflags = 1\n", "build.flags", "recipe.toml", 4),
        ("[source]\noverlay = [{ to = 1, path = '/a' }]\n", "source.overlay[0].to", "recipe.toml", 4),
        ("[[source.overlay]]\npath = '/a'\nto = 1\n", "source.overlay[0].to", "recipe.toml", 5),
        ("source = 1\n", "source", "recipe.toml", 3),
    ],
)
def test_a_problem_names_the_file_where_its_key_stands(
    refused: Refused, top: str, path: str, file: str, line: int
) -> None:
    """Where several files make a recipe, each problem points into the one that holds the mistake."""
    base = BASE.replace("USE_B = true }", "USE_X = [] }") + 'debug = "no"\n'

    problems = {item.path: item for item in refused({"recipe.toml": TOP + top, "base.toml": base}).problems}

    assert (problems[path].file, problems[path].line) == (file, line)


@pytest.mark.parametrize(
    ("top", "path", "line"),
    [
        ("[source]\noverlay = [{ to = 'b' }]\n", "source.overlay[0]", 4),
        ("[[source.overlay]]\nto = 'b'\n", "source.overlay[0]", 3),
        ("[source]\nref = 'v1'\n", "source.ref", 4),
    ],
)
def test_a_rule_points_into_the_right_file_too(refused: Refused, top: str, path: str, line: int) -> None:
    """What replaces a list is not blamed on the lines of the list that it replaced."""
    (found,) = refused({"recipe.toml": TOP + top, "base.toml": BASE}).problems

    assert (found.path, found.file, found.line) == (path, "recipe.toml", line)


def test_a_rule_that_a_base_breaks_is_told_of_the_base(refused: Refused) -> None:
    """A mistake in a file that many extend is found there and not in each of them."""
    (found,) = refused({"recipe.toml": TOP, "base.toml": BASE.replace("debian:", "https://")}).problems

    assert (found.path, found.file, found.line) == ("source.sha256", "base.toml", 4)


def test_a_broken_base_is_named(refused: Refused) -> None:
    """A syntax error in a file that is extended is told of that file."""
    error = refused({"recipe.toml": TOP, "base.toml": "schema ="})

    assert error.reference == "recipe-not-toml"
    assert error.what == "base.toml is not TOML"


def test_a_missing_base_is_named(refused: Refused) -> None:
    """A file that is not there is named as it was looked for."""
    assert refused({"recipe.toml": TOP}).what == "base.toml cannot be read"


@pytest.mark.parametrize(
    ("files", "chain"),
    [
        ({"recipe.toml": "extends = 'recipe.toml'"}, "recipe.toml -> recipe.toml"),
        ({"recipe.toml": "extends = './x/../recipe.toml'"}, "recipe.toml -> recipe.toml"),
        (
            {"recipe.toml": "extends = 'a/b.toml'", "a/b.toml": "extends = '../recipe.toml'"},
            "recipe.toml -> a/b.toml -> recipe.toml",
        ),
    ],
    ids=["itself", "in other words", "by another"],
)
def test_a_circle_is_shown(refused: Refused, files: dict[str, str], chain: str) -> None:
    """Recipes that extend one another in a circle are refused with the whole circle."""
    error = refused(files)

    assert error.reference == "recipe-extends-cycle"
    assert error.why == (chain,)


def test_the_chain_has_an_end(load: Load, refused: Refused) -> None:
    """A chain of files is bounded, so that one that never ends is no hang."""
    files = {f"{n}.toml": f'extends = "{n + 1}.toml"' for n in range(100)}
    files |= {"recipe.toml": 'name = "top"\nextends = "0.toml"'}

    assert refused(files).reference == "recipe-extends-too-deep"
    files[f"{MAX_DEPTH - 2}.toml"] = BASE
    assert load(files).name == "top"


@pytest.mark.parametrize(
    "base",
    [
        "",
        " ",
        "/etc/passwd",
        "//x",
        "https://example.org/r.toml",
        "file:///r.toml",
        "a\\nb",
        "a\\u001bb",
        "a\\u0000b",
    ],
)
def test_only_a_relative_path_can_be_extended(problem: Callable[..., Problem], base: str) -> None:
    """An absolute path, an address, nothing at all or control characters are refused, and nothing is opened."""
    found = problem({"recipe.toml": f'schema = 1\nextends = "{base}"\n'})

    assert (found.path, found.line) == ("extends", 2)


@pytest.mark.parametrize("base", ["1", "true", "[]", "['base.toml']", "{}"])
def test_extends_of_another_type_is_a_problem(refused: Refused, least: str, base: str) -> None:
    """What is no text names no file, and is not passed over."""
    problems = {item.path: item for item in refused(f"extends = {base}\n{least}").problems}

    assert problems["extends"].wanted == "text, in quotes"


@pytest.mark.parametrize(
    ("reference", "base"),
    [("recipe-too-large", "#" * 1_000_001), ("recipe-invalid", "[" + "a." * 10_000 + "a]")],
    ids=["huge", "deep"],
)
def test_a_base_is_no_safer_than_a_recipe(refused: Refused, reference: str, base: str) -> None:
    """Files that are extended meet the same bounds."""
    assert refused({"recipe.toml": TOP, "base.toml": base}).reference == reference


JSON = st.recursive(
    st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
TABLE = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(TABLE, TABLE, TABLE)
def test_merging_is_the_same_in_any_grouping(
    low: dict[str, Any], mid: dict[str, Any], top: dict[str, Any]
) -> None:
    """A chain of three means the same as refining twice, unless a table gives way to a value and comes back."""
    assert merge(low, {}) == low
    assert merge({}, top) == top
    assert merge(merge(low, top), top) == merge(low, top)
    assert set(merge(merge(low, mid), top)) == set(low) | set(mid) | set(top)


@given(TABLE, TABLE)
def test_what_lies_above_wins(low: dict[str, Any], top: dict[str, Any]) -> None:
    """No value of the refining file is lost, and neither table is changed by merging."""
    before = (repr(low), repr(top))
    result = merge(low, top)

    assert (repr(low), repr(top)) == before
    assert merge(result, top) == result


def test_every_recipe_of_ours_loads() -> None:
    """The recipes that come with torchbuild are right by their own rules."""
    from pathlib import Path

    root = Path(__file__).parents[2]
    paths = [*root.glob("recipes/**/*.toml"), *root.glob("examples/**/recipe*.toml")]

    names = {
        load_recipe(str(path), lambda name: Path(name).read_text(encoding="utf-8")).name for path in paths
    }

    assert len(names) == len(paths) >= 4
