"""Facts about OpenMP runtimes and about the wheels that hold a BLAS."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any, get_args

import pytest

from torchbuild.knowledge.blas_facts import absent_wheels, blas_wheels, openmp_fact, refused_pair
from torchbuild.model.recipe_toolchain import Blas, Openmp

BLAS = get_args(Blas.model_fields["provider"].annotation)
OPENMP = get_args(Openmp.model_fields["provider"].annotation)


def _rows(name: str) -> list[dict[str, Any]]:
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text).values()
    return [row for table in tables for row in (table.values() if isinstance(table, dict) else table)]


@pytest.mark.parametrize("row", _rows("openmp") + _rows("blas_wheels"))
def test_every_row_says_where_it_is_from(row: dict[str, Any]) -> None:
    """No fact without its source and the day on which it was read."""
    assert len(row["source"]) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row["checked"])


@pytest.mark.parametrize("provider", OPENMP)
def test_every_runtime_of_a_recipe_has_a_row(provider: str) -> None:
    """What a recipe may name is known: a file's name, or that there is none."""
    fact = openmp_fact(provider)

    assert bool(fact.library) == (provider != "none") == (fact.use_openmp == "ON")
    assert all(re.compile(pattern) and part for pattern, part in fact.within.items())


@pytest.mark.parametrize(
    ("part", "provider"), [("blas", name) for name in BLAS] + [("openmp", n) for n in OPENMP]
)
def test_wheels_are_there_or_it_is_said_why_not(part: str, provider: str) -> None:
    """Nobody is told that something is not supported without a reason and a way out."""
    if not blas_wheels(part, provider):
        assert absent_wheels(provider).why
        assert absent_wheels(provider).fix


def test_a_pair_is_refused_by_where_the_blas_is_from() -> None:
    """A whole MKL offers the tree a layer that nobody asked for; one of our own does not."""
    assert refused_pair("mkl", "path", "iomp")
    assert refused_pair("mkl", "wheels", "iomp") is None
    assert refused_pair("generic", "system", "iomp")
    assert refused_pair("mkl", "system", "gomp") is None
