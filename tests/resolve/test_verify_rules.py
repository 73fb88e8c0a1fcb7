"""What a recipe may ask to be shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Recipe
from torchbuild.smoke.names import NAMES

Only = Callable[..., Problem]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("mathmul", "matmul"), ("numpy_interop", "numpy-interop"), ("smoke-svd", ""), ("", "")],
    ids=["letter", "underscore", "with prefix", "empty"],
)
def test_a_check_that_there_is_not_is_told_before_anything_is_built(
    problem: Only, least: str, name: str, nearest: str
) -> None:
    """The recipe is refused with the names that there are, and the nearest one."""
    found = problem(f'{least}[verify]\nrequire = ["config", "{name}"]\n')

    assert (found.path, found.seen, found.line) == ("verify.require[1]", f'"{name}"', 11)
    assert found.wanted == f"one of {', '.join(NAMES)}"
    assert found.suggestion == nearest


def test_every_unknown_check_is_told_at_once(refused: Callable[..., RecipeError], least: str) -> None:
    """One run is enough to correct the list."""
    error = refused(f'{least}[verify]\nrequire = ["a", "svd", "b"]\n')

    assert [item.path for item in error.problems] == ["verify.require[0]", "verify.require[2]"]


def test_a_level_that_runs_nothing_cannot_require_anything(problem: Only, least: str) -> None:
    """What would be left out silently is refused, with the levels that run it."""
    found = problem(f'{least}[verify]\nlevel = "static"\nrequire = ["svd"]\n')

    assert (found.path, found.seen) == ("verify.require", '["svd"]')
    assert found.wanted == "none: level static runs nothing; levels cpu and gpu run these checks"


@pytest.mark.parametrize(
    "verify",
    [
        "",
        'level = "static"',
        'level = "static"\nrequire = []',
        f"require = {list(NAMES)}".replace("'", '"'),
    ],
    ids=["nothing", "static", "static, none required", "all"],
)
def test_what_can_be_shown_may_be_asked(load: Callable[..., Recipe], least: str, verify: str) -> None:
    """The level alone is enough to leave the checks out; every name that there is may be required."""
    assert load(f"{least}[verify]\n{verify}\n").name == "sample"
