"""The default of cuda.archs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.advice.of_recipe import wish_of
from torchbuild.advice.solve import solve
from torchbuild.errors import LockError, Problem
from torchbuild.knowledge.fact import Laid, Overlay, facts_file, using
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.assemble import Answers, lock_of, recipe_digest
from torchbuild.resolve.default_archs import derives_archs, with_default_archs
from torchbuild.resolve.lockfile import check_fresh

Load = Callable[..., Recipe]
PASCAL = """\
schema = 1
name = "r"
[target]
gpus = ["GTX 1080 Ti", "sm_75", "GTX 1080"]
driver = ">=570"
[source]
git = "https://example.org/sample.git"
ref = "v1"
[cuda]
version = "12.6.3"
[wheel]
version = "2.6.0"
"""
ARCHS = ("6.1", "7.5+PTX")


def test_the_gpus_of_the_target_say_the_architectures(load: Load) -> None:
    """Machine code for each, each once, oldest first; PTX of the newest, which this driver can translate."""
    recipe = load(PASCAL)

    assert recipe.cuda is not None
    assert recipe.cuda.archs == ARCHS
    assert recipe.target.gpus == ("GTX 1080 Ti", "sm_75", "GTX 1080")


def test_an_old_driver_gets_no_ptx(load: Load) -> None:
    """It starts the toolkit's programs and cannot translate its PTX: code of that kind would fail when used."""
    recipe = load(PASCAL, 'target.driver=">=535"')

    assert recipe.cuda is not None
    assert recipe.cuda.archs == ("6.1", "7.5")


def test_a_list_that_is_written_is_taken_as_it_is(load: Load) -> None:
    """Who writes it knows better, whatever the GPUs are."""
    recipe = load(PASCAL, 'cuda.archs=["6.1", "7.5"]')

    assert recipe.cuda is not None
    assert recipe.cuda.archs == ("6.1", "7.5")
    assert not derives_archs(recipe)


def test_neither_gpus_nor_a_list_is_a_problem(problem: Callable[..., Problem]) -> None:
    """Nothing is detected on the machine that builds: it is not the target."""
    found = problem(PASCAL.replace('gpus = ["GTX 1080 Ti", "sm_75", "GTX 1080"]\n', ""))

    assert found.path == "cuda.archs"
    assert "target.gpus" in found.wanted


def test_the_facts_speak_of_torch_alone(problem: Callable[..., Problem]) -> None:
    """What another package can be told to compile for is not known: its recipe names it."""
    assert problem(PASCAL + 'package = "torchlet"').path == "cuda.archs"


def test_what_cannot_be_is_loaded_without_a_list(load: Load) -> None:
    """Such a recipe can be read, explained and weighed; `lock` refuses it."""
    recipe = load(PASCAL, 'target.gpus=["RTX 5090"]')

    assert recipe.cuda is not None
    assert recipe.cuda.archs == ()
    assert derives_archs(recipe)
    assert not solve(wish_of(recipe)).is_possible


def test_a_recipe_is_settled_once(load: Load) -> None:
    """What was derived is what would be derived again."""
    recipe = load(PASCAL)

    assert with_default_archs(recipe) is recipe


def test_the_lock_holds_the_list(load: Load, answers: Callable[..., Answers]) -> None:
    """The same as if somebody had written it: lock and digest are those of what the recipe means."""
    derived = load(PASCAL)
    written = load(PASCAL, 'cuda.archs=["6.1", "7.5+PTX"]')

    lock = lock_of(derived, answers())
    assert lock.gpu_archs == ARCHS
    assert lock == lock_of(written, answers())
    check_fresh(lock, written, "r.lock")


def test_a_lock_goes_stale_where_facts_change_the_list(load: Load, answers: Callable[..., Answers]) -> None:
    """A lock never silently means another wheel than its recipe means today."""
    lock = lock_of(load(PASCAL), answers())
    tables = dict(facts_file("gpus"))
    rows = [
        row | ({"capabilities": [60]} if row["name"] == "GeForce GTX 1080 Ti" else {})
        for row in tables["product"]
    ]
    overlay = Overlay(
        files=(Laid(file="gpus", tables=tables | {"product": rows}, sha256="0" * 64),), sha256="1" * 64
    )

    with using(overlay):
        other = load(PASCAL)
        assert other.cuda is not None
        assert other.cuda.archs[0] == "6.0"
        with pytest.raises(LockError) as caught:
            check_fresh(lock, other, "r.lock")

    assert caught.value.reference == "lock-stale"
    assert recipe_digest(load(PASCAL)) == lock.recipe
