"""The tree is told what the recipe wants, and what it happens to find is off."""

from __future__ import annotations

from collections.abc import Callable

from torchbuild.knowledge.tables import era_fact
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.asked import ask

COMPILERS = {"CC": "/usr/bin/gcc", "CXX": "/usr/bin/g++", "LAUNCHER": ""}
TREE = (
    'include(CMakeDependentOption)\noption(USE_DISTRIBUTED "d" OFF)\n'
    'cmake_dependent_option(USE_MPI "m" ON "USE_DISTRIBUTED" OFF)\noption(USE_A "a" ON)\n'
)


def test_what_the_tree_would_pick_up_is_turned_off_where_it_is_there(
    load: Callable[..., Recipe], least: str
) -> None:
    """An option that appears only with another one is met on the second look, and turned off by name."""
    without = ask(load(least), era_fact("setup-py"), {"CMakeLists.txt": TREE}, COMPILERS, 1)
    tables = "\n[build]\nflags = { USE_DISTRIBUTED = true }\n"
    with_it = ask(load(least + tables), era_fact("setup-py"), {"CMakeLists.txt": TREE}, COMPILERS, 1)

    assert "USE_MPI" not in without.environ
    assert with_it.environ["USE_MPI"] == "OFF"
    assert (with_it.cache["USE_MPI"].value, with_it.cache["USE_MPI"].type) == ("OFF", "BOOL")
    assert with_it.declared >= {"USE_MPI", "USE_DISTRIBUTED", "USE_A"}


def test_a_tree_without_cmake_files_is_told_what_the_recipe_says(
    load: Callable[..., Recipe], least: str
) -> None:
    """Nothing is known of its options, and what is asked for is handed over."""
    asked = ask(load(least + "\n[build]\nflags = { USE_A = true }\n"), era_fact("setup-py"), {}, COMPILERS, 1)

    assert asked.environ["USE_A"] == "ON"
    assert asked.declared == frozenset()
