"""A source directory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CPU, case, outcome
from torchbuild.model.source_tree import SourceTree
from torchbuild.preflight.source_tree import source_directory

PATH = CPU.replace(
    'git = "https://git.example/pytorch.git"\nref = "v2.6.0"', 'path = "tree"\nepoch = 1706745600'
)


@pytest.mark.parametrize(
    ("changed", "reference", "wanted"),
    [
        ({}, "source-directory", "passed"),
        ({"exists": False}, "source-directory", "failed"),
        ({"has_front_end": False}, "source-directory", "failed"),
        ({"empty_submodules": ("third_party/gloo",)}, "source-submodules", "failed"),
        ({"git": "dangling"}, "source-git", "warned"),
        ({"git": "directory", "owner_differs": True}, "source-git", "warned"),
        (
            {"cache": "build/CMakeCache.txt", "cache_says": {"USE_CUDA": "OFF"}},
            "source-stale-cache",
            "failed",
        ),
        ({"not_executable": ("a.sh",)}, "source-rights", "warned"),
        ({"future": ("a.cpp",)}, "source-future", "warned"),
    ],
)
def test_what_would_stop_or_mislead_a_build_is_told(
    changed: dict[str, Any], reference: str, wanted: str
) -> None:
    """Each with what is seen."""
    tree = SourceTree.model_validate({"path": "tree"} | changed)

    assert outcome(source_directory(case(PATH, tree=tree)), reference).outcome == wanted


def test_submodules_that_nobody_wants_may_be_empty() -> None:
    """`submodules = "system"` says so."""
    tree = SourceTree(path="tree", empty_submodules=("third_party/gloo",))
    text = PATH.replace('path = "tree"', 'path = "tree"\nsubmodules = "system"')

    assert {item.reference for item in source_directory(case(text, tree=tree))} == {"source-directory"}


def test_a_repository_is_looked_at_when_it_is_locked() -> None:
    """Nothing is fetched here."""
    assert outcome(source_directory(case(CPU)), "source-directory").outcome == "not run"
