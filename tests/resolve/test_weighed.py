"""A recipe weighed by the facts before it is locked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.advice.of_recipe import wish_of
from torchbuild.advice.solve import solve
from torchbuild.errors import ConflictError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.weighed import weigh_recipe

Load = Callable[..., Recipe]
VOLTA = """\
schema = 1
name = "volta"
[target]
gpus = ["V100"]
driver = ">=580"
[source]
git = "https://example.org/sample.git"
ref = "v1"
[cuda]
version = "12.6.3"
archs = ["7.0"]
[wheel]
version = "2.11.0"
"""


def refused(recipe: Recipe) -> ConflictError:
    """The error of a recipe that must not be locked."""
    with pytest.raises(ConflictError) as caught:
        weigh_recipe(recipe)
    assert caught.value.reference == "recipe-impossible"
    return caught.value


def test_a_recipe_that_can_work_is_let_through(load: Load) -> None:
    """What it hangs on and nobody confirmed is told, and refuses nothing."""
    assert all(line.startswith("unconfirmed: ") for line in weigh_recipe(load(VOLTA)))


def test_what_somebody_goes_on_in_spite_of_refuses_nothing(load: Load) -> None:
    """By the conflict's own name; it is still told."""
    recipe = load(VOLTA, 'cuda.version="13.0.2"')
    references = tuple(item.reference for item in solve(wish_of(recipe)).conflicts)

    assert refused(recipe)
    assert weigh_recipe(recipe, references)


def test_what_facts_forbid_is_refused_with_both_and_the_ways_out(load: Load) -> None:
    """The toolkit no longer compiles for the chip: nothing is fetched to find that out."""
    error = refused(load(VOLTA, "cuda.version=13.0.2"))

    text = "\n".join(error.why)
    assert "[toolkit-unaware-of-chip]" in text
    assert "CUDA 13.0.2" in text
    assert "sm_70 (cuda.arch 70: " in text
    assert "another CUDA than 13.0.2" in error.fix


def test_missing_architectures_are_refused(load: Load) -> None:
    """A recipe that leaves them to the facts has none where the facts allow none."""
    error = refused(load(VOLTA, "cuda.version=13.0.2", "cuda.archs=[]"))

    assert any("sm_70" in line for line in error.why)


def test_what_nobody_knows_is_only_told(load: Load) -> None:
    """A release after our tables is no proof that it cannot be built: with a list of its own it may be tried."""
    lines = weigh_recipe(load(VOLTA, "wheel.version=99.0.0"))

    assert lines[0].startswith("not proven: torch 99.0.0 is no release that is known")


def test_another_package_is_not_weighed(load: Load) -> None:
    """The facts are about torch."""
    assert weigh_recipe(load(VOLTA, "wheel.package=torchlet", "cuda.version=13.0.2")) == ()
