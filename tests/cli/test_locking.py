"""The tree's front end, as it is locked."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from torchbuild.cli.locking import credentials, front_end_of
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.cli.source_answers import SourceAnswer
from torchbuild.errors import RecipeError
from torchbuild.model.lock import LockedSource


def answer(pyproject: bytes) -> SourceAnswer:
    """A tree with this pyproject.toml."""
    source = LockedSource(kind="git", url="https://example.org/x", commit="a" * 40)
    return SourceAnswer(source=source, epoch=1700000000, pyproject=pyproject)


@pytest.mark.parametrize(
    ("pyproject", "era", "requires"),
    [
        (b"", "setup-py", ()),
        (b"[tool.black]\nline-length = 1\n", "setup-py", ()),
        (
            b'[build-system]\nrequires = ["setuptools>=62", "wheel"]\n',
            "setup-py",
            ("setuptools>=62", "wheel"),
        ),
        (b'[build-system]\nrequires = []\nbuild-backend = "setuptools.build_meta"\n', "setup-py", ()),
        (
            b'[build-system]\nrequires = ["scikit-build-core"]\nbuild-backend = "scikit_build_core.build"\n',
            "scikit-build-core",
            ("scikit-build-core",),
        ),
    ],
    ids=["none", "no build system", "legacy", "setuptools", "scikit-build-core"],
)
def test_the_era_of_a_tree_is_read_from_the_tree(
    pyproject: bytes, era: str, requires: tuple[str, ...]
) -> None:
    """A tree of ten years ago and one of today are both understood, from what they say themselves."""
    assert front_end_of(answer(pyproject)) == (era, requires)


@pytest.mark.parametrize(
    ("pyproject", "reference"),
    [
        (b'[build-system]\nbuild-backend = "poetry.core.masonry.api"\n', "front-end-unknown"),
        (b"[build-system\n", "tree-pyproject-invalid"),
        (b"\xff", "tree-pyproject-invalid"),
        (b"build-system = 1\n", "tree-pyproject-invalid"),
        (b'[build-system]\nrequires = "setuptools"\n', "tree-pyproject-invalid"),
        (b'[build-system]\nrequires = ["a b c"]\n', "tree-requirement-invalid"),
        (b"a = " + b"[" * 100_000, "tree-pyproject-invalid"),
    ],
    ids=["unknown", "no TOML", "no text", "no table", "no list", "no requirement", "deep"],
)
def test_a_tree_that_cannot_be_understood_is_said(pyproject: bytes, reference: str) -> None:
    """A tree is foreign text: whatever stands in it, the answer is an error of ours."""
    with pytest.raises(RecipeError) as caught:
        front_end_of(answer(pyproject))

    assert caught.value.reference == reference


def test_a_tree_that_nothing_can_build_is_said() -> None:
    """Another archive than was meant, or one whose top is a level deeper, is told before requirements are."""
    with pytest.raises(RecipeError) as caught:
        front_end_of(dataclasses.replace(answer(b""), has_front_end=False))

    assert caught.value.reference == "front-end-missing"


@pytest.mark.parametrize(
    ("address", "prefixes"),
    [
        (
            "https://me:token@git.example/group/x.git",
            {"https://git.example/": "https://me:token@git.example/"},
        ),
        ("https://git.example/x.git", {}),
        ("ssh://git@git.example/x.git", {}),
        ("/srv/git/x", {}),
    ],
)
def test_credentials_go_to_their_host_alone(recipe: Path, address: str, prefixes: dict[str, str]) -> None:
    """The submodules there get them too; no other host, and no lock, ever does."""
    wanted = read_recipe(recipe, overrides=(f"source.git='{address}'",))

    assert credentials(wanted) == prefixes
