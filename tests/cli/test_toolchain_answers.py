"""Parts of a lock, asked of a world that lies in a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.cli.toolchain_answers import LockedToolchain, locked_toolchain
from torchbuild.edges.download import Downloader
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.store import DirectoryStore
from torchbuild.errors import ConflictError, RecipeError
from torchbuild.model.artifact import Artifact
from torchbuild.model.recipe import Recipe

BUILDER = {"cuda-prefix": "/usr/local/cuda-12.4", "cuda-release": "12.4", "cuda-nvcc": "12.4.131"}
LEAST: dict[str, Any] = {
    "schema": 1,
    "name": "r",
    "source": {"path": "tree"},
    "wheel": {"version": "2.6.0"},
    "cuda": {"version": "12.4.1", "from": "system", "path": "/usr/local/cuda", "archs": ("9.0",)},
}
SOURCE = b"NCCL's source"


def artifact(name: str) -> Artifact:
    """A wheel of the index."""
    return Artifact(locator=f"pypi:{name}/{name.replace('-', '_')}-1.whl", sha256="ab" * 32)


def lock(tmp_path: Path, said: list[str] | None = None, **tables: Any) -> LockedToolchain:
    """The parts of a recipe with these tables."""
    (tmp_path / "recipe").mkdir()
    (tmp_path / "recipe" / "nccl.tar.gz").write_bytes(SOURCE)
    store = DirectoryStore(tmp_path / "store")
    downloads = Downloader(store, tmp_path / "cache", MirrorSettings(), tmp_path / "recipe")
    there: Any = SimpleNamespace(downloads=downloads, store=store)
    told = [] if said is None else said

    def wheels(texts: tuple[str, ...]) -> tuple[Artifact, ...]:
        told.extend(texts)
        return (artifact("nvidia-cublas-cu12"), artifact("nvidia-cudnn-cu12"))

    recipe = Recipe.model_validate({key: item for key, item in (LEAST | tables).items() if item is not None})
    return locked_toolchain(recipe, there, wheels, told.append, BUILDER)


def test_a_part_of_the_builder_has_its_canonical_place(tmp_path: Path) -> None:
    """A link to a toolkit and the toolkit are one."""
    (cuda,) = lock(tmp_path).parts

    assert (cuda.prefix, cuda.says) == ("/usr/local/cuda-12.4", {"nvcc": "12.4.131"})


def test_a_file_beside_the_recipe_is_locked_by_its_bytes(tmp_path: Path) -> None:
    """Whoever wrote the recipe answers for it: nothing else is said."""
    found = lock(tmp_path, nccl={"version": "2.22.3", "from": "source", "archive": "file:nccl.tar.gz"})

    piece = found.parts[1].pieces[0]
    assert piece.artifact.sha256 == hashlib.sha256(SOURCE).hexdigest()
    assert found.unpinned == ()


def test_a_digest_that_the_recipe_names_is_kept(tmp_path: Path) -> None:
    """And nothing is said where it is right."""
    digest = hashlib.sha256(SOURCE).hexdigest()
    nccl = {"version": "2.22.3", "from": "source", "archive": "file:nccl.tar.gz", "sha256": digest}

    assert lock(tmp_path, nccl=nccl).unpinned == ()


def test_of_a_wheel_nothing_comes_with_it(tmp_path: Path) -> None:
    """What a wheel requires is another part's business."""
    said: list[str] = []

    found = lock(tmp_path, said, cudnn={"version": "9.1.0.70"})

    (piece,) = found.parts[1].pieces
    assert piece.artifact == artifact("nvidia-cudnn-cu12")
    assert said == ["asking for the parts of the toolchain: cuda, cudnn", "nvidia-cudnn-cu12==9.1.0.70"]


def test_a_recipe_without_parts_asks_nobody(tmp_path: Path) -> None:
    """A CPU build is as fast as it was."""
    said: list[str] = []

    assert lock(tmp_path, said, cuda=None) == LockedToolchain((), ())
    assert said == []


def test_a_toolkit_of_another_release_is_refused_at_once(tmp_path: Path) -> None:
    """Seconds after it was asked for."""
    with pytest.raises(ConflictError) as caught:
        lock(tmp_path, cuda=LEAST["cuda"] | {"version": "12.6.3"})

    assert caught.value.reference == "cuda-builder-differs"


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With the place where it was looked for."""
    with pytest.raises(RecipeError) as caught:
        lock(tmp_path, nccl={"version": "2.22.3", "from": "source", "archive": "file:gone.tar.gz"})

    assert caught.value.reference == "recipe-file-missing"
