"""Facts about libraries: each with its source, and agreeing with one another and with the model."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchbuild.knowledge.libraries import (
    library_fact,
    library_names,
    library_wheels,
    lowest_chips,
    minimums,
)
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Library


def _rows() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for table in ("libraries", "library_wheels", "library_floors"):
        text = (files("torchbuild.knowledge") / "data" / f"{table}.toml").read_text(encoding="utf-8")
        for key, value in tomllib.loads(text).items():
            several = value if isinstance(value, list) else [value]
            found += [(f"{table}-{key}-{number}", row) for number, row in enumerate(several)]
    return found


@pytest.mark.parametrize(("key", "row"), _rows(), ids=[key for key, _ in _rows()])
def test_every_fact_says_where_it_is_from(key: str, row: dict[str, Any]) -> None:
    """No row without its source and the day on which it was read, or that nobody did."""
    assert len(row["source"]) > 10, key
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row["checked"])


def test_each_library_of_a_recipe_is_known() -> None:
    """A table that a recipe may have is one that somebody knows how to look at and to hand over."""
    tables = {name for name, field in Recipe.model_fields.items() if field.annotation == Library | None}

    assert set(library_names()) == tables
    for name in library_names():
        fact = library_fact(name)
        assert SpecifierSet(fact.torch).contains("2.14.0")
        assert not set(fact.never) & {*fact.variables, *fact.results, *fact.reads}
        assert not set(fact.variables) & set(fact.results)
        re.compile(fact.says.encode())


@pytest.mark.parametrize("name", library_names())
def test_layouts_of_wheels_do_not_overlap(name: str) -> None:
    """For each release and CUDA there is one distribution and one folder."""
    for cuda in {row.cuda for row in library_wheels(name)}:
        rows = library_wheels(name, cuda)
        bounds = [Version(text) for row in rows for text in (row.first, row.last)]
        assert bounds == sorted(bounds)
        assert len(set(bounds)) == len(bounds)
        assert len({row.distribution for row in rows}) == 1


def test_what_a_tree_asks_of_a_library() -> None:
    """What was read in the tree itself is told apart from what is only believed."""
    (row,) = minimums("cudnn", "2.6.0")

    assert (row.least, row.is_confirmed) == ("8.5", True)
    assert {item.is_confirmed for item in minimums("cudnn", "2.9.1")} == {True, False}
    assert minimums("cudnn", "1.0") == ()


def test_which_chips_a_release_runs_on() -> None:
    """Releases such as cuDNN 9.11 and NCCL 2.28 dropped chips for which the toolkit still compiles."""
    lowest = {
        (name, version): [row.lowest for row in lowest_chips(name, version, "12")]
        for name, version in (
            ("cudnn", "9.10.2.21"),
            ("cudnn", "9.11.0.98"),
            ("nccl", "2.27.5"),
            ("nccl", "2.28.9"),
        )
    }

    assert lowest == {
        ("cudnn", "9.10.2.21"): [50],
        ("cudnn", "9.11.0.98"): [75],
        ("nccl", "2.27.5"): [50],
        ("nccl", "2.28.9"): [60],
    }
