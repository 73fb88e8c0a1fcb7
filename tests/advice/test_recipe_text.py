"""Lines of a recipe as TOML."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from torchbuild.advice.like_line import LikeLine
from torchbuild.advice.recipe_text import recipe_text

NASTY = st.text(max_size=30) | st.sampled_from(
    ['"', "\\", "x\nname = 'evil'", "# no comment", "\x7f\x00\u2028", "]", "'''", "a  b", "\u202e", "\ud7ff"]
)
VALUES = NASTY | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.lists(NASTY, max_size=4).map(tuple)


def line(key: str, value: Any, comment: str = "") -> LikeLine:
    """One line."""
    return LikeLine(key=key, value=value, comment=comment)


def test_tables_come_in_the_order_of_a_recipe() -> None:
    """Whoever adds a line, the file reads as every other recipe does."""
    text = recipe_text(
        [
            line("wheel.version", "2.6.0"),
            line("build.flags.USE_NCCL", value=True),
            line("cuda.archs", ("6.1", "8.6+PTX"), "machine code for each GPU"),
            line("build.preset", "official"),
            line("schema", 1),
            line("name", "r"),
        ],
        head=["torch for a GPU"],
    )

    assert text == (
        "# torch for a GPU\n"
        "\n"
        "schema = 1\n"
        'name = "r"\n'
        "\n"
        "[cuda]\n"
        'archs = ["6.1", "8.6+PTX"]  # machine code for each GPU\n'
        "\n"
        "[build]\n"
        'preset = "official"\n'
        "\n"
        "[build.flags]\n"
        "USE_NCCL = true\n"
        "\n"
        "[wheel]\n"
        'version = "2.6.0"\n'
    )


def test_a_long_reason_stands_above_its_line() -> None:
    """The reason first, each fact deeper on lines of its own, none of them long."""
    fact = "torch 2.6 was released with CUDA 12.6 [official_builds.build 2.6 x86_64 12.6, 2026-11-30] " * 2
    text = recipe_text([line("cuda.version", "12.6.3", f"the newest\n{fact}")])

    *comment, last = text.removeprefix("[cuda]\n").splitlines()
    assert last == 'version = "12.6.3"'
    assert comment[0] == "# the newest"
    assert all(item.startswith("#   ") for item in comment[1:])
    assert max(map(len, comment)) <= 100


def test_a_long_list_has_a_line_an_item() -> None:
    """A list of packages is read, and changed, line by line."""
    packages = tuple(f"package-number-{number}" for number in range(9))
    text = recipe_text([line("image.packages", packages)])

    assert text.splitlines()[2] == '  "package-number-0",'
    assert tomllib.loads(text) == {"image": {"packages": list(packages)}}


@given(
    st.dictionaries(st.sampled_from(["name", "source.ref", "build.flags.A", "wheel.local"]), VALUES),
    NASTY,
    NASTY,
)
def test_whatever_is_in_a_line_comes_back(values: dict[str, Any], comment: str, head: str) -> None:
    """No value and no comment, whoever wrote it, becomes another line of the recipe."""
    rows = [line(key, value, comment) for key, value in values.items()]
    text = recipe_text(rows, [head])

    expected: dict[str, Any] = {}
    for key, value in values.items():
        place = expected
        *tables, last = key.split(".")
        for table in tables:
            place = place.setdefault(table, {})
        place[last] = list(value) if isinstance(value, tuple) else value
    assert tomllib.loads(text) == expected
    assert recipe_text(rows, [head]) == text


@given(NASTY.filter(bool))
def test_any_name_of_a_flag_can_be_written(name: str) -> None:
    """A key that needs quotes gets them; the model refuses it later, and says so."""
    if "." not in name:
        assert tomllib.loads(recipe_text([line(f"build.flags.{name}", value=True)])) == {
            "build": {"flags": {name: True}}
        }
