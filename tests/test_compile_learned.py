"""What a build leaves for the next one."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.compile_learned import keep_peaks, keep_times, kept_peaks
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.trees import StoreTrees
from torchbuild.errors import HostError
from torchbuild.resolve.learned_peaks import KEPT, SEEN


@pytest.fixture
def context(tmp_path: Path) -> Any:
    """A workspace and a store."""
    store = DirectoryStore(tmp_path / "store")

    def inside(path: str) -> Path:
        return tmp_path / path.replace("{shim}", "shim").replace("{cache}", "cache")

    return SimpleNamespace(
        workspace=SimpleNamespace(inside=inside),
        trees=StoreTrees(store),
        store=SimpleNamespace(root=lambda: tmp_path / "store"),
    )


def test_peaks_of_a_build_are_there_for_the_next(context: Any) -> None:
    """By the compilers that took them, whoever builds, and wherever."""
    seen = context.workspace.inside(SEEN)
    seen.parent.mkdir()
    seen.write_text('{"edge": "a.o", "bytes": 5}\n{"edge": "half writ')

    keep_peaks("gcc 12", context)

    assert json.loads(kept_peaks(context) or "") == {"gcc 12": {"a.o": 5}}


def test_a_build_that_saw_nothing_changes_nothing(context: Any) -> None:
    """What was learned before stays."""
    keep_peaks("gcc 12", context)

    assert not (context.store.root() / KEPT).exists()


def test_times_are_kept_where_there_are_any(context: Any) -> None:
    """A call of ninja with nothing to do takes no knowledge away."""
    context.workspace.inside("{cache}/times").parent.mkdir()
    keep_times("{cache}/times", "a", context)
    keep_times("{cache}/times", None, context)

    assert context.workspace.inside("{cache}/times").read_text() == "a"


def test_no_build_fails_for_what_cannot_be_kept(context: Any) -> None:
    """A store that may only be read still serves."""

    def refused(*_: object) -> None:
        raise HostError("not-writable", "no", why="", fix="")

    seen = context.workspace.inside(SEEN)
    seen.parent.mkdir()
    seen.write_text('{"edge": "a.o", "bytes": 5}\n')
    context.trees = SimpleNamespace(read=context.trees.read, write=refused)

    keep_peaks("gcc 12", context)
    keep_times("{cache}/times", "a", context)
