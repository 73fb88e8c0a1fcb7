"""What people read when a recipe is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.problems import MOST_PROBLEMS, dotted, known_keys, path_of, shown

Only = Callable[..., Problem]


@pytest.mark.parametrize(
    ("table", "path", "seen", "wanted"),
    [
        ('[build]\ntype = "Fast"', "build.type", '"Fast"', '"Release" or "RelWithDebInfo" or "Debug" or "MinSizeRel"'),
        ("[build]\ntype = 1", "build.type", "1", '"Release" or "RelWithDebInfo" or "Debug" or "MinSizeRel"'),
        ("[build]\nflags = 1", "build.flags", "1", "a table"),
        ("[build]\nflags = { USE_A = 1.5 }", "build.flags.USE_A", "1.5", "true, false, a whole number or text"),
        ("[build]\nflags = { USE_A = [1] }", "build.flags.USE_A", "[1]", "true, false, a whole number or text"),
        ("[build]\nflags = { int = nan }", "build.flags.int", "NaN", "true, false, a whole number or text"),
        ('[build]\nflags = { "USE A" = 1 }', "build.flags.USE A", 'the name "USE A"', "a variable's name: letters, digits and _, first no digit"),
        ("[build]\ncmake = { A = 1979-05-27 }", "build.cmake.A", '"1979-05-27"', "true, false, a whole number or text"),
        ("[build]\nenv = { A = 1 }", "build.env.A", "1", "text, in quotes"),
        ('[build]\nrequires = "numpy"', "build.requires", '"numpy"', "a list"),
        ("[build]\nrequires = [true]", "build.requires[0]", "true", "text, in quotes"),
        ("[python]\nversion = 3.13", "python.version", "3.13", "text, in quotes"),
        ('[python]\nversion = "three"', "python.version", '"three"', "a version such as 12.4.1"),
        ('[cuda]\nversion = "12.4"\narchs = ["sm_90"]', "cuda.archs[0]", '"sm_90"', "N.N, then perhaps a or f, then perhaps +PTX"),
        ('[python]\nversion = ["3"]', "python.version", '["3"]', "text, in quotes"),
        ("[machine]\njobs = 0", "machine.jobs", "0", "at least 1"),
        ("[machine]\njobs = 1.5", "machine.jobs", "1.5", "a whole number"),
        ("[machine]\nmemory_gib = 0", "machine.memory_gib", "0", "more than 0.0"),
        ("[machine]\nmemory_gib = inf", "machine.memory_gib", "Infinity", "a finite number"),
        ('[machine]\nmemory_gib = "4"', "machine.memory_gib", '"4"', "a number"),
        ("machine = 4", "wheel.machine", 'unknown key "machine"', "one of build_number, debug, local, package, requires, runtime, system_libraries, triton, version"),
        ("[image]\nid = 'x'\nname = 'y'", "image.id", '"x"', "64 lower-case hexadecimal digits"),
        ("[target]\nglibc = '2.28.1'", "target.glibc", '"2.28.1"', "two numbers, such as 2.28"),
        ("[toolchain]\ncc = 'gcc -m32'", "toolchain.cc", '"gcc -m32"', "a program's name or absolute path, without spaces and options; options go to build.env"),
        ("[image]\nname = '--privileged'", "image.name", '"--privileged"', "an image's name in lower case, such as localhost/builder:1, or with @sha256: and its digest"),
        ("[image]\n", "image.name", "nothing", "a value: the key is required"),
        ("[[source.prepare]]\nargv = []", "source.prepare[0].argv", "[]", "at least 1 of them"),
        ("[[source.overlay]]\nto = 'a'\nstrip = 11", "source.overlay[0].strip", "11", "at most 10"),
    ],
)  # fmt: skip
def test_a_problem_says_what_it_saw_and_wanted(
    problem: Only, least: str, table: str, path: str, seen: str, wanted: str
) -> None:
    """Path, value and what may stand there are told in the recipe's own words, once for each key."""
    found = problem(least + table)

    assert (found.path, found.seen, found.wanted) == (path, seen, wanted)
    assert found.file == "recipe.toml"
    assert found.line is not None


@pytest.mark.parametrize(
    ("table", "suggestion"),
    [
        ("[tolchain]", "toolchain"),
        ("[build]\nflag = {}", "flags"),
        ("[python]\nform = 'system'", "from"),
        ("[python]\nsource = 'system'", ""),
        ("[build]\ntype = 'release'", "Release"),
        ("[verify]\nlevel = 'gpus'", "gpu"),
        ("[verify]\nlevel = 'zzz'", ""),
        ("[[source.overlay]]\nto = 'a'\narchives = 'b'", "archive"),
        ("[companions.a]\nsources = {}", "source"),
    ],
)
def test_the_nearest_is_suggested(
    refused: Callable[..., RecipeError], least: str, table: str, suggestion: str
) -> None:
    """A misspelt key or value comes with the one that was probably meant, and with none where nothing is near."""
    found = [
        item for item in refused(least + table).problems if item.wanted != "a value: the key is required"
    ]

    assert [item.suggestion for item in found] == [suggestion]


def test_all_problems_come_at_once(refused: Callable[..., RecipeError]) -> None:
    """Nobody corrects a recipe one error at a time."""
    text = """\
schema = 2
name = "Not A Name"
[target]
machine = "sparc"
[source]
git = 1
[[source.overlay]]
where = "x"
[build]
flags = { USE_A = 1.5, USE_B = {} }
typo = 1
"""

    error = refused(text)

    assert error.what == "10 problems in recipe.toml"
    assert [(item.path, item.line) for item in error.problems] == [
        ("schema", 1),
        ("name", 2),
        ("target.machine", 4),
        ("source.git", 6),
        ("source.overlay[0].to", 7),
        ("source.overlay[0].where", 8),
        ("build.flags.USE_A", 10),
        ("build.flags.USE_B", 10),
        ("build.typo", 11),
        ("wheel", None),
    ]


def test_there_is_an_end_to_problems(refused: Callable[..., RecipeError], least: str) -> None:
    """A file with a hundred thousand errors is answered as fast as any other, with the first of them."""
    error = refused(least + "[build]\n" + "".join(f"a{number} = 1\n" for number in range(20_000)))

    assert len(error.problems) == MOST_PROBLEMS
    assert error.what == f"{MOST_PROBLEMS} problems and more in recipe.toml"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ("a", '"a"'),
        (("a", 1), '["a", 1]'),
        ({"a": {}}, '{"a": {}}'),
        (None, "null"),
        ("ü", '"ü"'),
        ("x" * 100, '"' + "x" * 56 + "..."),
        ({1, 2}, '"{1, 2}"'),
    ],
)
def test_values_are_shown_as_they_are_written(value: object, text: str) -> None:
    """A value in a message looks like in the file, and is never longer than a line."""
    assert shown(value) == text


def test_what_cannot_be_shown_is_named() -> None:
    """No value breaks the message that tells of it."""
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]

    assert shown(deep) == "list"
    assert shown(16**5000) == "int"


@pytest.mark.parametrize(
    ("location", "path"),
    [
        (("source", "overlay", 0, "to"), "source.overlay[0].to"),
        (("build", "flags", "USE_A", "bool"), "build.flags.USE_A"),
        (("build", "flags", "int", "str"), "build.flags.int"),
        (("build", "cmake", "A B", "[key]"), "build.cmake.A B"),
        (("build", "env", "bool"), "build.env.bool"),
        ((), ""),
    ],
)
def test_a_path_is_the_authors(location: tuple[int | str, ...], path: str) -> None:
    """What the validator adds to a path of its own is not shown."""
    assert path_of(location) == path


def test_a_path_can_begin_with_an_index() -> None:
    """Lists of lists are told as such."""
    assert dotted((0, 1, "a")) == "[0][1].a"


@pytest.mark.parametrize(
    ("location", "some"),
    [
        ((), {"schema", "name", "source", "companions"}),
        (("python",), {"from", "path", "version"}),
        (("source", "overlay", 3), {"archive", "to"}),
        (("companions", 0, "source", "series"), {"exclude", "path"}),
    ],
)
def test_the_keys_of_a_place_are_known(location: tuple[int | str, ...], some: set[str]) -> None:
    """Keys are told by the name that stands in the file."""
    assert some <= set(known_keys(location))
    assert known_keys(location) == sorted(known_keys(location))


@pytest.mark.parametrize(
    "location", [("build", "flags"), ("name",), ("nonsense", "x"), ("build", "flags", "A")]
)
def test_free_names_have_no_list(location: tuple[int | str, ...]) -> None:
    """Where names are the author's own, there is nothing to list."""
    assert known_keys(location) == []
    assert Recipe.model_fields
