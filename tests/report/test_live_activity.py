"""What runs at this moment: the shim's file, and what is told of it."""

from __future__ import annotations

import json
import threading

import pytest

from torchbuild.errors import HostError
from torchbuild.report.events import Activity, Running
from torchbuild.report.live_activity import LiveActivity, parse_activity

SAID = {
    "edges": [{"name": "x/a.cpp.o", "s": 41.0, "waits": False}, {"name": "b.o", "s": 1, "waits": True}],
    "running": 2,
    "waiting": 1,
    "tokens": 1,
    "jobs": 2,
    "memory": 9 << 30,
    "memory_total": 24 << 30,
    "hits": 4,
    "calls": 5,
}


class Watched:
    """A file that a test writes, and what was told of it."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.told: list[Activity] = []
        self.watch = LiveActivity("compile", self.read, self.told.append)

    def read(self) -> str | None:
        """The file."""
        return self.text

    def look(self, times: int, **said: object) -> int:
        """Look so often, a second apart; how often was told so far."""
        self.text = json.dumps(SAID | said)
        for _ in range(times):
            self.watch.look()
        return len(self.told)


def test_all_that_is_known_is_told() -> None:
    """Edges with their time, jobs, memory and cache."""
    assert parse_activity("compile", json.dumps(SAID)) == Activity(
        stage="compile",
        edges=(
            Running(name="x/a.cpp.o", seconds=41.0),
            Running(name="b.o", seconds=1.0, waits=True),
        ),
        running=2,
        waiting=1,
        tokens=1,
        jobs=2,
        memory=9 << 30,
        memory_total=24 << 30,
        cache_hits=4,
        cache_calls=5,
    )


@pytest.mark.parametrize("text", [None, "", "{", "[]", "7", "[" * 100_000, "null"])
def test_what_is_no_such_file_is_nothing(text: str | None) -> None:
    """The file may be half written, or somebody else's."""
    assert parse_activity("compile", text) is None


@pytest.mark.parametrize(
    "edges",
    [
        7,
        [7, None, [], {}],
        [{"name": 7, "s": 1}],
        [{"name": "a", "s": "1"}],
        [{"name": "a", "s": -1}],
        [{"name": "a", "s": float("nan")}],
        [{"name": "a", "s": float("inf")}],
        [{"name": "a", "s": True}],
    ],
    ids=repr,
)
def test_an_edge_that_cannot_be_is_left_out(edges: object) -> None:
    """What a build writes is not believed."""
    said = parse_activity("compile", json.dumps({"edges": edges, "tokens": "x", "jobs": -1, "memory": True}))

    assert said == Activity(stage="compile")


def test_a_hostile_name_is_bounded() -> None:
    """A thousand characters, and a half of a character that no file can hold, are a short name."""
    said = parse_activity("compile", json.dumps({"edges": [{"name": "\ud800" + "x" * 1000, "s": 1}] * 20}))

    assert said is not None
    assert len(said.edges) == 12
    assert {len(edge.name) for edge in said.edges} == {300}
    assert said.model_dump_json().encode()


def test_the_same_is_told_now_and_then_and_news_at_once() -> None:
    """A file of events does not grow by a line a second."""
    watched = Watched()

    assert watched.look(1) == 1
    assert watched.look(1, waiting=0) == 1
    assert watched.look(1) == 1
    assert watched.look(1, waiting=0) == 2
    assert watched.look(9, waiting=0) == 2
    assert watched.look(1, waiting=0) == 3


def test_nothing_is_told_where_nothing_is_there() -> None:
    """A build that has not begun, or an executor without the shim."""
    watched = Watched()
    watched.watch.look()

    assert watched.told == []


def test_that_nothing_runs_any_more_is_told_once() -> None:
    """When ninja has ended its file is gone; nobody is shown its last edge while the wheel is packed."""
    watched = Watched()
    watched.look(1)
    watched.text = None
    for _ in range(30):
        watched.watch.look()

    assert [event.running for event in watched.told] == [2, 0]
    assert watched.told[-1] == Activity(stage="compile")


def test_it_looks_while_the_body_runs() -> None:
    """And has ended after it, also where the file cannot be read."""
    watched, looked = Watched(), threading.Event()

    def read() -> str | None:
        looked.set()
        raise HostError("file-operation-failed", "x", why="y", fix="z")

    with LiveActivity("compile", read, watched.told.append) as watch:
        assert looked.wait(60)

    assert watched.told == []
    assert not watch._thread.is_alive()
