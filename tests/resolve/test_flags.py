"""What is asked of the tree, and who wants it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import ConflictError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.flags import definitions, flags, linker_flags, preset_environment, switch_state

Load = Callable[..., Recipe]


def of(load: Load, least: str, tables: str, version: str = "2.6.0") -> Recipe:
    """A recipe with these tables."""
    return load(least.replace('version = "1.0.0"', f'version = "{version}"') + tables)


def test_what_the_builder_happens_to_have_is_off(load: Load, least: str) -> None:
    """An option that a tree turns on when it finds a library is off, unless the recipe asks for it."""
    declared = ("USE_MPI", "USE_NUMA", "USE_A")

    assert flags(of(load, least, ""), declared) == {
        "USE_MPI": ("OFF", "nothing: the recipe does not ask for it"),
        "USE_NUMA": ("OFF", "nothing: the recipe does not ask for it"),
    }
    asked = flags(of(load, least, "\n[build]\nflags = { USE_MPI = true }\n"), declared)
    assert asked["USE_MPI"] == ("ON", "build.flags.USE_MPI")


def test_a_tree_is_told_nothing_that_it_does_not_know(load: Load, least: str) -> None:
    """What it does not declare is not handed to it."""
    assert flags(of(load, least, ""), ()) == {}


def test_the_official_preset_is_what_upstream_builds_with(load: Load, least: str) -> None:
    """Flags and variables of upstream's own scripts, by release; the recipe wins."""
    recipe = of(load, least, '\n[build]\npreset = "official"\nflags = { USE_KINETO = false }\n')

    found = flags(recipe)
    assert (found["USE_CUDA"], found["USE_NUMPY"]) == (
        ("OFF", "build.preset official"),
        ("ON", "build.preset official"),
    )
    assert found["USE_KINETO"] == ("OFF", "build.flags.USE_KINETO")
    assert preset_environment(recipe) == {"INSTALL_TEST": "0", "TH_BINARY_BUILD": "1"}
    assert preset_environment(of(load, least, "")) == {}


def test_a_preset_of_a_release_that_nobody_read_is_refused(load: Load, least: str) -> None:
    """Better none than a guess."""
    with pytest.raises(ConflictError) as caught:
        flags(of(load, least, '\n[build]\npreset = "official"\n', version="1.12.1"))

    assert caught.value.reference == "preset-unknown-release"


def test_the_linker_comes_before_the_recipes_own_flags(load: Load, least: str) -> None:
    """One text for the environment and for what is compared."""
    mold = '\n[toolchain]\nlinker = "mold"\n'
    own = '\n[build]\nenv = { LDFLAGS = "-Wl,-z,now" }\n'

    assert linker_flags(of(load, least, "")) == ""
    assert linker_flags(of(load, least, mold)) == "-fuse-ld=mold"
    assert linker_flags(of(load, least, own)) == "-Wl,-z,now"
    assert linker_flags(of(load, least, mold + own)) == "-fuse-ld=mold -Wl,-z,now"


@pytest.mark.parametrize(
    ("name", "value", "raw", "state"),
    [
        ("USE_A", "yes", None, "ON"),
        ("USE_A", "Off", None, "OFF"),
        ("USE_A", "/usr", None, ""),
        ("ONNX_ML", "ON", True, "ON"),
        ("ONNX_ML", "ON", "ON", ""),
    ],
)
def test_a_switch_is_told_from_a_text(name: str, value: str, raw: object, state: str) -> None:
    """By its name, or by a TOML boolean."""
    assert switch_state(name, value, raw) == state


def test_definitions_are_sorted_and_say_who_wants_them(load: Load, least: str) -> None:
    """Each of build.cmake."""
    recipe = of(load, least, '\n[build]\ncmake = { FOO = "x", BAR = true }\n')

    assert definitions(recipe) == {"BAR": ("ON", "build.cmake.BAR"), "FOO": ("x", "build.cmake.FOO")}
