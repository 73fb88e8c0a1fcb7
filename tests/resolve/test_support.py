"""What comes later is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.errors import RecipeError
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.support import unsupported

MAXIMAL = Path(__file__).parents[1] / "data" / "recipes" / "maximal.toml"

LATER = {
    "companions": "[companions.torchvision.source]\ngit = 'g'\nref = 'r'",
    "target.cpu": '[target]\ncpu = "x86-64-v2"',
    "verify.upstream_tests": '[verify]\nupstream_tests = ["test/test_nn.py"]',
    "machine.caches": '[machine]\ncaches = { store = "/x" }',
    "toolchain.linker": '[toolchain]\nlinker = "lld"',
    "wheel.runtime": 'runtime = "bundle"',
    "wheel.triton": 'triton = "auto"',
    "wheel.debug": 'debug = "strip"',
    "verify.level": '[verify]\nlevel = "gpu"',
}


@pytest.mark.parametrize("key", LATER)
def test_each_is_refused_alone(refused: Callable[..., RecipeError], least: str, key: str) -> None:
    """A table or value that nothing acts on yet ends the run; it is never quietly ignored."""
    error = refused(f"{least}{LATER[key]}\n")

    assert error.reference == "recipe-not-supported-yet"
    assert [item.path for item in error.problems] == [key]
    assert error.problems[0].line is not None
    assert "not supported yet" in error.problems[0].wanted


def test_all_are_named_at_once(refused: Callable[..., RecipeError]) -> None:
    """The recipe with everything the design has is refused with each of the things that are still to come."""
    text = MAXIMAL.read_text(encoding="utf-8")

    error = refused(text)

    assert error.reference == "recipe-not-supported-yet"
    assert {item.path for item in error.problems} == set(LATER)
    assert all(item.file == "recipe.toml" and item.line for item in error.problems)


@pytest.mark.parametrize(
    "table",
    [
        "[target]\nglibc = '2.28'\ngpus = []",
        "[target]\ngpus = ['GTX 1080']\ndriver = '>=535'\nkernel_modules = 'open'\nforward_compat = true",
        "companions = []",
        "[companions]",
        "[machine]\ncaches = {}",
        "[python]\nfrom = 'path'\npath = '/usr/bin/python3'",
        "[toolchain]\nlinker = 'mold'\ncompiler_cache = 'ccache'",
        "[blas]\nprovider = 'generic'",
        "[build]\npreset = 'minimal'",
        "[verify]\nlevel = 'static'\nrequire = []",
    ],
)
def test_what_is_acted_on_is_not_refused(load: Callable[..., Recipe], least: str, table: str) -> None:
    """Nothing that works today is turned away, and asking for nothing is no request."""
    text = f"{table}\n{least}" if table.startswith("companions") else f"{least}\n{table}"

    assert list(unsupported(load(text))) == []
