"""The estimate of a build that runs: what ninja's log says while it grows."""

from __future__ import annotations

import json

import pytest
from ninja_builds import BEGAN_MS, build_ninja_text, log_text, many, scheduled

from torchbuild.report.cache_calls import source_of
from torchbuild.report.edge_times import edge_times
from torchbuild.report.expected import Expected
from torchbuild.report.live_estimate import LiveEstimate, runs_of

SECONDS = many(400)
EDGES = scheduled(SECONDS, 4)
END = EDGES[-1][2] / 1000
MISSES = "".join(f"# /s/{source_of(name)}\ncache_miss\n" for name in SECONDS if name.endswith(".o"))


class Tree:
    """A build tree in which ninja works."""

    def __init__(self, log: str = "") -> None:
        self.files = {"build.ninja": build_ninja_text(list(SECONDS)), ".ninja_log": log}
        self.read_count = 0

    def read(self, name: str) -> str | None:
        """A file."""
        self.read_count += 1
        return self.files.get(name) or None

    def follow(
        self, estimate: LiveEstimate, edges: list[tuple[str, int, int]], began_ms: int
    ) -> list[float | None]:
        """Let ninja end one edge after the other; what is said after each."""
        said = []
        lines = log_text(edges, began_ms=began_ms, head=not self.files[".ninja_log"]).splitlines(
            keepends=True
        )
        if lines[0].startswith("#"):
            self.files[".ninja_log"] = lines.pop(0)
        for number, line in enumerate(lines, 1):
            self.files[".ninja_log"] += line
            said.append(estimate.edge(number, len(edges)))
        return said


def test_what_is_left_is_said_while_it_runs() -> None:
    """With what was learned: from the first edge on, and true to a tenth in the middle."""
    tree = Tree()
    estimate = LiveEstimate(tree.read, Expected(learned=SECONDS), has_cache=False)

    said = tree.follow(estimate, EDGES, BEGAN_MS)

    at, middle = next(
        (number, left) for number, left in enumerate(said) if number >= 199 and left is not None
    )
    left = END - EDGES[at][2] / 1000
    assert said[0] is not None
    assert abs(middle - left) / left < 0.1
    assert said[-1] == 0.0


def test_afterwards_it_says_how_wrong_it_was() -> None:
    """At a quarter, a half and three quarters of the time."""
    tree = Tree()
    estimate = LiveEstimate(tree.read, Expected(learned=SECONDS), has_cache=False)
    tree.follow(estimate, EDGES, BEGAN_MS)

    assert set(estimate.errors()) == {25, 50, 75}
    assert all(abs(error) < 0.15 for error in estimate.errors().values())


def test_an_earlier_run_is_not_taken_for_this_one() -> None:
    """A build that was killed in the middle goes on: only what is left counts, and only that is learned."""
    tree = Tree(log_text(EDGES[:200]))
    estimate = LiveEstimate(tree.read, Expected(learned=SECONDS), has_cache=False, jobs=4)
    rest = scheduled({name: SECONDS[name] for name, _, _ in EDGES[200:]}, 4)

    said = tree.follow(estimate, rest, BEGAN_MS + 86_400_000)

    assert said[0] is not None
    assert abs(said[0] + rest[0][2] / 1000 - rest[-1][2] / 1000) < 0.15 * rest[-1][2] / 1000
    text = LiveEstimate(lambda _: "", Expected(), has_cache=False).learned("")
    assert text is None
    assert len(edge_times(estimate.learned("")).learned) == 400


def test_what_ran_is_learned_for_the_next_build() -> None:
    """By what the cache said, a hit is learned as one."""
    tree = Tree()
    estimate = LiveEstimate(tree.read, Expected(), has_cache=True)
    tree.follow(estimate, EDGES, BEGAN_MS)
    name = next(name for name in SECONDS if name.endswith("file7.cpp.o"))

    known = json.loads(estimate.learned("# /source/lib7/src/part0/file7.cpp\ndirect_cache_hit\n") or "")

    assert set(known["cached"]) == {name}
    assert all(not output.endswith(".o") for output in known["compiled"])


def test_a_small_build_is_not_looked_into() -> None:
    """Reading the graph would make a build of seconds longer."""
    tree = Tree()
    estimate = LiveEstimate(tree.read, Expected(), has_cache=False)
    before = tree.read_count

    assert [estimate.edge(number, 9) for number in range(1, 10)] == [None] * 9
    assert tree.read_count == before


def test_a_large_build_is_looked_into_now_and_then() -> None:
    """Ten thousand edges cost a hundred looks and not ten thousand."""
    tree = Tree(log_text(EDGES[:1]))
    estimate = LiveEstimate(tree.read, Expected(), has_cache=False)
    for number in range(1, 10_001):
        estimate.edge(number, 10_000)

    assert tree.read_count < 150


def test_files_that_are_not_there_are_no_harm() -> None:
    """Nothing is known, nothing is said."""
    estimate = LiveEstimate(lambda _: None, Expected(), has_cache=False)

    assert {estimate.edge(number, 100) for number in range(1, 101)} == {None}
    assert estimate.errors() == {}
    assert runs_of("no log") == ()


def test_what_the_cache_says_counts_more_than_times() -> None:
    """Objects that are compiled in no time on a fast machine are no hits: what is left is said accordingly."""
    quick = {name: 0.2 if name.endswith(".o") else took for name, took in SECONDS.items()}
    edges = scheduled(quick, 4)
    tree = Tree()
    estimate = LiveEstimate(
        tree.read, Expected(learned=SECONDS), has_cache=True, jobs=4, statslog=lambda: MISSES
    )

    said = tree.follow(estimate, edges, BEGAN_MS)

    at, left = next((number, left) for number, left in enumerate(said) if number >= 199 and left is not None)
    assert left == pytest.approx((edges[-1][2] - edges[at][2]) / 1000, rel=0.5)


def test_a_link_that_runs_does_not_begin_anew() -> None:
    """What runs, and for how long it has, is asked at each look."""
    tree = Tree()
    ran: list[int] = []

    def running() -> dict[str, float]:
        ran.append(1)
        return {"bin/all": 3.0}

    estimate = LiveEstimate(tree.read, Expected(learned=SECONDS), has_cache=False, jobs=4, running=running)
    tree.follow(estimate, EDGES, BEGAN_MS)

    assert 3 < len(ran) <= 101


def test_an_edge_that_takes_longer_moves_the_end() -> None:
    """No edge ends, and the time goes on: what is left is not said to be a second for minutes."""
    ages = {"bin/all": 0.0}
    tree = Tree()
    estimate = LiveEstimate(
        tree.read, Expected(learned=SECONDS), has_cache=False, jobs=4, running=lambda: dict(ages)
    )
    before = estimate.again()
    count = len(EDGES)
    tree.files[".ninja_log"] = log_text(EDGES[:-1], began_ms=BEGAN_MS)
    estimate.edge(1, count)
    estimate.edge(count - 1, count)
    at_first = estimate.again()
    ages["bin/all"] = 100.0
    later = estimate.again()

    assert before is None
    assert at_first == pytest.approx(4.0, rel=0.2)
    assert later == pytest.approx(20.0, rel=0.2)


def test_several_calls_of_ninja_are_judged_by_the_longest() -> None:
    """A front end calls ninja again to install: that is not what a person waited for."""
    tree = Tree()
    estimate = LiveEstimate(tree.read, Expected(learned=SECONDS), has_cache=False, jobs=4)
    tree.follow(estimate, EDGES, BEGAN_MS)
    whole = estimate.evidence()
    again = scheduled(dict.fromkeys(list(SECONDS)[:40], 1.0), 4)
    tree.follow(estimate, again, BEGAN_MS + 86_400_000)

    assert estimate.evidence() == whole
    assert set(whole) == {
        "estimate_error_at_first",
        "estimate_error_at_25",
        "estimate_error_at_50",
        "estimate_error_at_75",
    }


def test_a_build_that_was_all_in_the_cache_says_how_wrong_it_was_too() -> None:
    """If it took long enough for somebody to look."""
    hits = {name: 0.12 if name.endswith(".o") else took for name, took in SECONDS.items()}
    tree = Tree()
    estimate = LiveEstimate(tree.read, Expected(learned=SECONDS), has_cache=True, jobs=4)
    tree.follow(estimate, scheduled(hits, 4), BEGAN_MS)

    assert abs(int(estimate.evidence()["estimate_error_at_first"].rstrip("%"))) <= 15
    assert abs(int(estimate.evidence()["estimate_error_at_50"].rstrip("%"))) <= 15


def test_a_build_of_seconds_says_nothing_of_its_error() -> None:
    """What took less than ten seconds is no measure."""
    tree = Tree()
    estimate = LiveEstimate(tree.read, Expected(), has_cache=True, jobs=4)
    tree.follow(estimate, scheduled(dict.fromkeys(SECONDS, 0.01), 4), BEGAN_MS)

    assert estimate.evidence() == {}
