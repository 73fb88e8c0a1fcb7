"""Following a build that compiles."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.compile_watch import MOST_EVIDENCE, CompileWatch
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.trees import StoreTrees
from torchbuild.report.events import Activity, Progress


@pytest.fixture
def seen() -> list[Any]:
    """What was told."""
    return []


@pytest.fixture
def watch(tmp_path: Path, seen: list[Any]) -> CompileWatch:
    """Of a build that nobody can say the end of."""
    context: Any = SimpleNamespace(
        reporter=SimpleNamespace(emit=seen.append),
        trees=StoreTrees(DirectoryStore(tmp_path / "store")),
        workspace=SimpleNamespace(inside=lambda path: tmp_path / Path(path).name),
    )
    estimate: Any = SimpleNamespace(edge=lambda _number, _total: 7.0, again=lambda: 5.0)
    return CompileWatch(context, estimate)


def test_each_edge_is_told_with_what_is_left(watch: CompileWatch, seen: list[Any]) -> None:
    """How far it is, what was made, and how long the rest takes."""
    watch.line("[3/10] Building CXX object a/b.cpp.o")

    (told,) = seen
    assert isinstance(told, Progress)
    assert (told.done, told.total, told.what, told.left_s) == (3, 10, "a/b.cpp.o", 7.0)
    assert watch.place() == "after 3 of 10 edges of compile"


def test_edges_of_all_calls_of_ninja_count(watch: CompileWatch) -> None:
    """A front end may build in two steps."""
    for line in ("[1/2] a", "[2/2] b", "[1/5] c"):
        watch.line(line)

    assert watch.total == 7


def test_before_the_first_edge_it_says_so(watch: CompileWatch) -> None:
    """Who stops it then has lost nothing."""
    assert watch.place() == "before the first edge of compile"


def test_the_first_edge_that_failed_is_the_evidence(watch: CompileWatch) -> None:
    """Its own words, not those of the next one, and no more of them than anybody reads."""
    for line in ("FAILED: a.o", *["error: no"] * 100, "[2/9] next", "FAILED: b.o", "error: other"):
        watch.line(line)

    assert watch.failed == ["FAILED: a.o", *["error: no"] * (MOST_EVIDENCE - 1)]


def test_what_the_tree_lacks_is_known(watch: CompileWatch) -> None:
    """A target that is none is the caller's mistake."""
    watch.line("ninja: error: unknown target 'x'")

    assert not watch.has_target


def test_a_compiler_that_was_given_up_is_kept_apart(watch: CompileWatch) -> None:
    """It is the cause, whatever else failed."""
    line = "torchbuild: a.o was killed twice, the second time alone, with 900 MiB"
    watch.line(line)

    assert watch.lost == [line]


def test_what_runs_now_is_told_while_it_does(watch: CompileWatch, seen: list[Any], tmp_path: Path) -> None:
    """As the supervisor has it; what a killed run left there is forgotten."""
    (tmp_path / "live.json").write_text("of a run that was killed")
    edges = [{"name": "a.o", "s": 4.0, "waits": False}]
    live = {"tokens": 1, "jobs": 2, "memory": 5, "memory_total": 9, "running": 1, "waiting": 0}
    with watch.activity():
        assert not (tmp_path / "live.json").exists()
        (tmp_path / "part").write_text(json.dumps(live | {"edges": edges}))
        (tmp_path / "part").rename(tmp_path / "live.json")
        while not seen:
            pass

    told = seen[0]
    assert isinstance(told, Activity)
    assert (told.jobs, told.left_s) == (2, 5.0)
