"""What is asked before the builder, and what after the tree."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.cli import toolchain_to_lock
from torchbuild.cli.source_answers import SourceAnswer
from torchbuild.cli.toolchain_to_lock import (
    bundled_parts,
    interpreter_to_lock,
    refuse_early,
    weigh_tree,
    with_tree,
)
from torchbuild.errors import ConflictError
from torchbuild.model.lock import LockedSource, LockedSubmodule
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.torch_tree import SELECT

GRAMMAR = r"""
function(CUDA_SELECT_NVCC_ARCH_FLAGS out_variable)
    if(arch_name MATCHES "^([0-9]\\.[0-9](\\([0-9]\\.[0-9]\\))?)$")
    endif()
  string(REGEX MATCHALL "[0-9()]+" cuda_arch_bin "${cuda_arch_bin}")
  string(REGEX MATCHALL "[0-9]+"   cuda_arch_ptx "${cuda_arch_ptx}")
endfunction()
"""
LEAST: dict[str, Any] = {
    "schema": 1,
    "name": "r",
    "source": {"path": "tree"},
    "wheel": {"version": "1.13.1"},
}


def recipe(**tables: Any) -> Recipe:
    """A recipe with further tables."""
    return Recipe.model_validate(LEAST | tables)


def answer(pyproject: str = "", **files: str) -> SourceAnswer:
    """A tree with these files."""
    source = LockedSource(kind="git", url="https://example.org/x", commit="a" * 40)
    return SourceAnswer(source=source, epoch=1, pyproject=pyproject.encode(), tree=files)


def told(asked: Recipe, tree: SourceAnswer, version: str = "3.13.5") -> list[str]:
    """What a person hears of a tree."""
    lines: list[str] = []
    weigh_tree(asked, tree, version, lines.append)
    return lines


def test_an_interpreter_of_the_builder_is_settled_by_looking_at_it() -> None:
    """Nothing is asked of uv."""
    nowhere: Any = None

    assert interpreter_to_lock(recipe(), nowhere, print) == (None, ())


def test_an_interpreter_of_uv_is_fetched_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file is in the store when the builder is looked at; a named digest is handed on."""
    artifact = SimpleNamespace(sha256="ab" * 32)
    asked: list[dict[str, str]] = []

    class FirstUse:
        def __init__(self, _downloads: object) -> None:
            pass

        def files(self, wanted: dict[str, str], _on_progress: object) -> Any:
            asked.append(wanted)
            return SimpleNamespace(artifacts=dict.fromkeys(wanted, artifact), unpinned=("nobody says",))

    def managed(_recipe: Recipe, _document: object, fetch: Any) -> Any:
        return fetch(SimpleNamespace(locator="python-build-standalone:1/f", sha256="cd"))

    monkeypatch.setattr(toolchain_to_lock, "FirstUse", FirstUse)
    monkeypatch.setattr(toolchain_to_lock, "managed_python", managed)
    there: Any = SimpleNamespace(downloads=None, store=SimpleNamespace(get=lambda _digest: tmp_path))

    found, unpinned = interpreter_to_lock(recipe(python={"from": "uv", "version": "3.13"}), there, print)

    assert found == (artifact, tmp_path)
    assert unpinned == ("nobody says",)
    assert asked == [{"python-build-standalone:1/f": "cd"}]


def test_an_architecture_that_the_tree_cannot_say_is_refused_in_seconds() -> None:
    """Not at 87 % of a build: torch 1.13 has no word for Blackwell."""
    asked = recipe(cuda={"version": "12.8.1", "archs": ("12.0",)})

    with pytest.raises(ConflictError) as caught:
        told(asked, answer(**{SELECT: GRAMMAR}))

    assert caught.value.reference == "torch-architecture-unknown"


def test_a_doubt_is_told_and_ends_nothing() -> None:
    """What the tree's own table lacks may still compile."""
    asked = recipe(cuda={"version": "12.4.1", "archs": ("8.9",)})

    (line,) = told(asked, answer(**{SELECT: GRAMMAR}))

    assert line.startswith("warning: architecture 8.9")
    assert told(recipe(), answer()) == []


def test_a_tree_that_is_not_for_the_interpreter_is_refused() -> None:
    """Its own requires-python says so."""
    with pytest.raises(ConflictError) as caught:
        told(recipe(), answer('[project]\nrequires-python = "<3.13"\n'))

    assert caught.value.reference == "python-not-for-tree"


def test_what_the_tree_brings_is_known_by_its_pin() -> None:
    """The commit of a late source is the release that is built; without one nothing would be there."""
    asked = recipe(cuda={"version": "12.4.1", "archs": ("9.0",)}, nccl={"from": "bundled"})
    late = LockedSubmodule(path="third_party/nccl", url="https://example.org/nccl", commit="b" * 40)

    (part,) = bundled_parts(asked, answer(), (late,))

    assert (part.provider, part.says["pin"]) == ("bundled", "b" * 40)
    assert bundled_parts(recipe(), answer(), ()) == ()
    with pytest.raises(ConflictError) as caught:
        bundled_parts(asked, answer(), ())
    assert caught.value.reference == "bundled-nccl-missing"


def test_a_chip_that_the_toolkit_does_not_know_is_told_before_it_is_fetched() -> None:
    """A table is only suspicion; the probe of the toolchain decides."""
    asked = recipe(cuda={"version": "12.4.1", "archs": ("9.0", "12.0")})

    lines = told(asked, answer())

    assert any("architecture 12.0, by the table of releases" in line for line in lines)
    assert not any("architecture 9.0," in line for line in lines)
    assert any(line.startswith("warning: not checked") for line in lines)  # this tree has no grammar


def test_what_the_tree_asks_of_a_toolkit_goes_with_the_toolkit() -> None:
    """The proof looks for it inside the build, where the tree's files are not read again."""
    parts = tuple(
        LockedPart.model_validate({"name": name, "provider": "system", "version": "", "prefix": "/usr"})
        for name in ("cuda", "nccl")
    )
    asks = weigh_tree(recipe(), answer(), "3.13.5", print)

    cuda, nccl = with_tree(parts, asks)

    assert set(cuda.says) == {"tree-knows-cccl", "tree-links-tools-ext"}
    assert nccl.says == {}


def test_what_no_provider_can_have_is_refused_first() -> None:
    """Before a builder is looked at or a tree is fetched."""
    with pytest.raises(ConflictError) as caught:
        refuse_early(recipe(cuda={"version": "12.4.1", "from": "wheels", "archs": ("9.0",)}))

    assert caught.value.reference == "cuda-wheels-without-nvcc"
