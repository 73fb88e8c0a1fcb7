"""Build requirements that a release of torch needs besides those that are named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.model.recipe import Recipe
from torchbuild.resolve.release_requirements import release_requirements

Load = Callable[..., Recipe]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("", ("cmake<4", "cmake>=3.18", "numpy>=2.0.2,<3", "setuptools<80")),
        ("[build]\nrequires = ['numpy==1.26.4']", ("cmake<4", "cmake>=3.18", "setuptools<80")),
        ("[build]\nrequires = ['Setuptools==75.1', 'cmake']", ("numpy>=2.0.2,<3",)),
        ("[toolchain]\ncmake = '>=4'", ("numpy>=2.0.2,<3", "setuptools<80")),
    ],
    ids=["nothing", "numpy", "others", "bounds"],
)
def test_what_the_recipe_names_is_its_authors(
    load: Load, least: str, more: str, wanted: tuple[str, ...]
) -> None:
    """Everything else has the bounds that the release needs."""
    recipe = load(least.replace('version = "1.0.0"', 'version = "2.6.0"') + more)

    assert release_requirements(recipe, "cp312") == wanted


def test_of_another_package_nothing_is_known(load: Load, least: str) -> None:
    """Its version number is no release of torch."""
    recipe = load(least.replace('version = "1.0.0"', 'version = "2.6.0"\npackage = "torchlet"'))

    assert release_requirements(recipe, "cp312") == ()
