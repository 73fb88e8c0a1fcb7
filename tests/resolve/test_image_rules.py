"""Keys of [image] that go together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import RecipeError
from torchbuild.model.recipe import Recipe

Load = Callable[..., Recipe]
PYTHON = '\n[python]\nversion = "3.13"\n'


def test_an_image_of_packages_is_a_recipe(load: Load, least: str) -> None:
    """A suite and names are all that is needed; a bare root needs no names."""
    table = '[image]\nname = "localhost/x"\nsuite = "sample"\n'

    assert load(least + PYTHON + table).image.packages == ()
    assert load(least + PYTHON + table + 'packages = ["g++", "python3.13-dev"]\n').image.components == (
        "main",
    )


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ('packages = ["gcc"]', "image.suite"),
        ('suite = "sample"\ncomponents = []', "image.components"),
        ('suite = "--help"', "image.suite"),
        ('suite = "sample"\npackages = ["gcc-"]', "image.packages[0]"),
        ('suite = "sample"\npackages = ["-o=x"]', "image.packages[0]"),
        ('suite = "sample"\npackages = ["?essential"]', "image.packages[0]"),
        ('suite = "sample"\ncomponents = ["main contrib"]', "image.components[0]"),
    ],
)
def test_what_apt_would_take_for_something_else_is_refused(
    load: Load, least: str, keys: str, key: str
) -> None:
    """Apt removes `gcc-`, and reads options and patterns: none of these is a package's name."""
    with pytest.raises(RecipeError) as caught:
        load(f'{least}{PYTHON}[image]\nname = "localhost/x"\n{keys}\n')

    assert [problem.path for problem in caught.value.problems] == [key]


def test_an_image_that_is_made_here_has_no_digest_yet(load: Load, least: str) -> None:
    """A name with a digest means an image that is there already."""
    with pytest.raises(RecipeError) as caught:
        load(f'{least}{PYTHON}[image]\nname = "localhost/x@sha256:{"ab" * 32}"\nsuite = "sample"\n')

    assert [problem.path for problem in caught.value.problems] == ["image.name"]
