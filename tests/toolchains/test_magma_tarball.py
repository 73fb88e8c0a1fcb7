"""MAGMA out of an archive."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.errors import ConflictError
from torchbuild.model.artifact import Artifact
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import magma_tarball
from torchbuild.toolchains.provider import Answers

LOCATOR = "https://example.org/magma-cuda124-2.6.1-1.tar.bz2"


def recipe(**magma: Any) -> Recipe:
    """A recipe that wants MAGMA."""
    return Recipe.model_validate(
        {
            "schema": 1,
            "name": "r",
            "source": {"path": "tree"},
            "wheel": {"version": "2.6.0"},
            "cuda": {"version": "12.4.1", "archs": ("9.0",)},
            "magma": {"from": "tarball", "version": "2.6.1"} | magma,
        }
    )


def test_the_archive_becomes_the_part() -> None:
    """By the digest that the recipe names; without one it is trusted on first use."""
    asked = magma_tarball.questions(recipe(archive=LOCATOR, sha256="1" * 64))
    file = Artifact(locator=LOCATOR, sha256="1" * 64)

    part = magma_tarball.part(recipe(archive=LOCATOR), Answers(files={LOCATOR: file}))

    assert [(item.locator, item.sha256) for item in asked.files] == [(LOCATOR, "1" * 64)]
    assert magma_tarball.questions(recipe(archive=LOCATOR)).files[0].sha256 == ""
    assert part.prefix == "/torchbuild/parts/magma"
    assert part.pieces[0].artifact == file


def test_an_archive_is_never_guessed() -> None:
    """Names of such archives follow from no rule."""
    with pytest.raises(ConflictError) as caught:
        magma_tarball.questions(recipe())

    assert caught.value.reference == "magma-archive-unnamed"
