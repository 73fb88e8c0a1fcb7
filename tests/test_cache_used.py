"""The compiler cache of a compile stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchbuild.cache_used import STATSLOG, cache_evidence, cache_used, hits_told, warm_key
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.trees import StoreTrees
from torchbuild.edges.workspace import DirectoryWorkspace, open_workspace
from torchbuild.model.lock import Lock
from torchbuild.report.events import Event, Found

OUTPUTS = [f"lib/CMakeFiles/x.dir/a{number}.cpp.o" for number in range(8)]
CCACHE = "/usr/bin/ccache"


@dataclass
class World:
    """As much of one as the cache of a stage needs."""

    store: StoreTrees
    workspace: DirectoryWorkspace
    events: list[Event] = field(default_factory=list)

    @property
    def context(self) -> Any:
        """What a stage hands on."""
        reporter = SimpleNamespace(emit=self.events.append)
        return SimpleNamespace(trees=self.store, workspace=self.workspace, reporter=reporter, target=None)

    def write(self, path: str, text: str) -> None:
        """A file of the build."""
        self.store.write(self.workspace.inside(path), text)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A workspace, and a cache that outlives it."""
    store = tmp_path / "store"
    with open_workspace(tmp_path / "builds", "run", store=store, cache=tmp_path / "cache") as workspace:
        yield World(StoreTrees(DirectoryStore(store)), workspace)


def words(word: str) -> str:
    """A log of one call for each output."""
    return "".join(f"# /s/lib/a{number}.cpp\n{word}\n" for number in range(8))


def used(world: World, key: str = "k", outputs: list[str] = OUTPUTS) -> list[str]:
    """References of what is found, which is told as well."""
    before = len(world.events)
    findings = cache_used(CCACHE, key, {}, outputs, world.context)
    assert [event.finding for event in world.events[before:] if isinstance(event, Found)] == list(findings)
    return [item.reference for item in findings]


def test_a_second_build_of_the_same_should_hit(world: World) -> None:
    """What was compiled once is remembered by all that makes an object; another build may miss."""
    world.write(STATSLOG, words("cache_miss"))

    assert used(world) == []
    assert used(world) == ["cache-never-hit"]
    assert used(world, key="other") == []


def test_a_build_that_nobody_asked_the_cache_about_is_told(world: World) -> None:
    """And leaves no word that it is warm."""
    assert used(world) == ["cache-never-asked"]
    world.write(STATSLOG, words("cache_miss"))
    assert used(world) == []


def test_without_a_cache_there_is_nothing_to_say(world: World) -> None:
    """Neither evidence nor findings."""
    assert cache_used("", "k", {}, OUTPUTS, world.context) == ()
    assert cache_evidence("", {}, world.context) == {}


def test_the_summary_says_how_much_was_there(world: World) -> None:
    """Of a server's counts as of a log's."""
    world.write(STATSLOG, words("direct_cache_hit"))
    stats = {"cache_hits": {"counts": {"C/C++": 3}}, "cache_misses": {"counts": {"C/C++": 1}}}
    usage = {"compiler_cache": {"cache": {"stats": stats}, "served": True, "backend": ""}}

    assert hits_told(cache_evidence(CCACHE, {}, world.context)) == ", 8 of 8 compiler calls from the cache"
    assert cache_evidence("/usr/bin/sccache", usage, world.context)["cache_hits"] == "3 of 4"
    assert hits_told({}) == ""


def test_what_makes_an_object_makes_the_key(make_lock: Callable[..., Lock]) -> None:
    """Another source or flag may miss; another wheel's version, which no object knows, is in the environment."""
    lock = make_lock(compiler_cache=CCACHE)

    assert warm_key(lock) == warm_key(make_lock(compiler_cache=CCACHE, name="other"))
    assert warm_key(lock) != warm_key(make_lock(compiler_cache=CCACHE, environ={"CFLAGS": "-O1"}))
    assert warm_key(lock) != warm_key(make_lock(compiler_cache="/usr/bin/sccache"))
