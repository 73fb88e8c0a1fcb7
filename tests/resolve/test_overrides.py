"""``--set KEY=VALUE``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.overrides import Override, parse_override


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("machine.jobs=2", ("machine", "jobs"), 2),
        (" machine . jobs = 2 ", ("machine", "jobs"), 2),
        ("build.flags.USE_CUDA=true", ("build", "flags", "USE_CUDA"), True),
        ("build.flags.USE_CUDA=ON", ("build", "flags", "USE_CUDA"), "ON"),
        ("source.git=/srv/git/torch", ("source", "git"), "/srv/git/torch"),
        ("source.git=https://example.org/a?b=c#d", ("source", "git"), "https://example.org/a?b=c#d"),
        ("wheel.version=2.6.0", ("wheel", "version"), "2.6.0"),
        ('wheel.version="2.6"', ("wheel", "version"), "2.6"),
        ("wheel.version='2.6'", ("wheel", "version"), "2.6"),
        ('"wheel".version=x', ("wheel", "version"), "x"),
        ('name=it is "so" \\ done', ("name",), 'it is "so" \\ done'),
        ("name=", ("name",), ""),
        ("name=a = b", ("name",), "a = b"),
        ("name=1\nother = 2", ("name",), "1\nother = 2"),
        ("verify.packages=[]", ("verify", "packages"), []),
        ("verify.packages=[\"numpy>=2\", 'x']", ("verify", "packages"), ["numpy>=2", "x"]),
        ("build.flags={USE_A=true, USE_B=1}", ("build", "flags"), {"USE_A": True, "USE_B": 1}),
        ("machine.memory_gib=1.5", ("machine", "memory_gib"), 1.5),
    ],
)
def test_a_value_is_toml_or_the_text_itself(text: str, path: tuple[str, ...], value: Any) -> None:
    """Numbers, tables and lists are TOML; what is none, such as a path, needs no quotes inside quotes."""
    override = parse_override(text)

    assert (override.path, override.value) == (path, value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=",
        "=1",
        "name",
        "a b=1",
        "a.=1",
        ".a=1",
        "a..b=1",
        "a[0]=1",
        "a\nb=1",
        "[a]\nb=1",
        "#a=1",
        "a#b=1",
        "\0=1",
    ],
)
def test_what_has_no_key_is_refused(text: str) -> None:
    """Only one dotted key can stand before the sign; nothing can be slipped in beside it."""
    with pytest.raises(RecipeError) as caught:
        parse_override(text)

    assert caught.value.reference == "override-invalid"
    assert "--set" in caught.value.fix


@pytest.mark.parametrize("text", ['a="x', "a='x", "a=[1", "a={b=1", "a=[x]", "a={b}", 'a="x" y'])
def test_what_begins_as_toml_must_be_toml(text: str) -> None:
    """A forgotten bracket or quote is a mistake and not a text."""
    with pytest.raises(RecipeError) as caught:
        parse_override(text)

    assert caught.value.reference == "override-invalid"
    assert "not TOML" in caught.value.what


def test_extends_cannot_be_set() -> None:
    """A key that would be read too late is refused and not ignored."""
    with pytest.raises(RecipeError, match="--set extends"):
        parse_override("extends=other.toml")


def _outcome(text: str) -> Override | RecipeError:
    """Any other exception fails the test that calls this."""
    try:
        return parse_override(text)
    except RecipeError as error:
        return error


@given(st.text(max_size=60) | st.text(alphabet="ab.=[]{}\"'\n 1#\\", max_size=60))
def test_any_argument_is_an_override_or_a_clear_error(text: str) -> None:
    """Nothing that can be typed makes torchbuild fail in another way."""
    result = _outcome(text)

    assert result.reference == "override-invalid" if isinstance(result, RecipeError) else result.table()


@pytest.mark.parametrize(
    ("text", "get", "value"),
    [
        ("python.version=3.13", lambda r: r.python.version, "3.13"),
        ("python.version=3.10", lambda r: r.python.version, "3.10"),
        ("wheel.version=2", lambda r: r.wheel.version, "2"),
        ("wheel.local=1", lambda r: r.wheel.local, "1"),
        ("build.env.A=1", lambda r: r.build.env["A"], "1"),
        ("build.env.A=true", lambda r: r.build.env["A"], "true"),
        ("build.env.A=1 # 2", lambda r: r.build.env["A"], "1 # 2"),
        ("build.flags.USE_A=1", lambda r: r.build.flags["USE_A"], 1),
        ("build.flags.USE_A=1.5", lambda r: r.build.flags["USE_A"], "1.5"),
        ("machine.jobs=3", lambda r: r.machine.jobs, 3),
    ],
)
def test_a_text_needs_no_quotes_where_only_text_may_stand(
    load: Callable[..., Recipe], least: str, text: str, get: Callable[[Recipe], Any], value: object
) -> None:
    """``--set python.version=3.10`` means what it says: the text, with the nought at its end."""
    assert get(load(least, text)) == value


def test_the_last_of_several_counts(load: Callable[..., Recipe], least: str) -> None:
    """Overrides are laid over the recipe in order, the rest of a table stays."""
    recipe = load(least, "build.flags.USE_A=true", "build.flags.USE_B=1", "build.flags.USE_A=false")

    assert recipe.build.flags == {"USE_A": False, "USE_B": 1}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("machine.jobs=zero", "machine.jobs"),
        ("machine.job=1", "machine.job"),
        ("build.flags.USE_A={}", "build.flags.USE_A"),
        ("source.strip=true", "source.strip"),
        ("source.patches=1", "source.patches"),
        ("source=1", "source"),
        ("name=a\0b", "name"),
        ("name=a\udcffb", "name"),
        ("machine.jobs=99999999999999999999", "machine.jobs"),
        ("sorce.git=x", "sorce"),
        ("wheel.version.x=1", "wheel.version"),
        ("cudnn.from=9", "cudnn.from"),
    ],
)  # fmt: skip
def test_a_problem_of_an_override_is_told_of_it(
    problem: Callable[..., Problem], least: str, text: str, path: str
) -> None:
    """What comes from the command line is not blamed on a line of a file."""
    found = problem(least, text)

    assert (found.path, found.file, found.line) == (path, "--set", None)


def test_who_typed_it_is_not_sent_to_the_file(refused: Callable[..., RecipeError], least: str) -> None:
    """Where nothing but the command line is wrong, that is what is to be corrected."""
    error = refused(least, "sorce.git=x")

    assert error.what == "1 problem in --set"
    assert error.fix.startswith("Correct --set;")
    assert refused(least + "nonsense = 1", "sorce.git=x").fix.startswith("Correct recipe.toml;")


def test_a_key_without_end_is_refused(refused: Callable[..., RecipeError], least: str) -> None:
    """A dotted key of very many parts is no crash."""
    assert refused(least, "a." * 90 + "a=1").reference == "recipe-invalid"
    assert refused(least, "a." * 100_000 + "a=1").reference == "override-invalid"
