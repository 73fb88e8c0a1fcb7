"""How long a compilation will still take: builds that are replayed, and what would have been said."""

from __future__ import annotations

import random
from dataclasses import replace

import estimate as benchmark
import pytest
from ninja_builds import build_ninja_text, many, scheduled

from torchbuild.report.build_graph import parse_build_ninja
from torchbuild.report.cache_calls import Outcome
from torchbuild.report.estimate import Checkpoint, Forecast, errors_at, replay, undone
from torchbuild.report.expected import Expected
from torchbuild.report.ninja_log import LogEdge
from torchbuild.report.timeline import kind_of
from torchbuild.resolve.edge_guesses import edge_guesses

JOBS = 8


def ran(seconds: dict[str, float], jobs: int = JOBS) -> list[LogEdge]:
    """A build of these, as ninja logs it."""
    return [LogEdge(name, 1, start, end) for name, start, end in scheduled(seconds, jobs)]


def errors(edges: list[LogEdge], expected: Expected, *, has_cache: bool = False) -> dict[int, float]:
    """Of what would have been said at 25, 50 and 75 %."""
    forecast = Forecast([edge.output for edge in edges], expected=expected, has_cache=has_cache)
    return errors_at(replay(forecast, edges, every=5), max(edge.end_ms for edge in edges) / 1000)


def noisy(
    seconds: dict[str, float], *, faster: float = 1.0, spread: float = 0.2, seed: int = 3
) -> dict[str, float]:
    """What another build of the same took."""
    luck = random.Random(seed)  # noqa: S311  the same times each day
    return {name: took * faster * luck.lognormvariate(0, spread) for name, took in seconds.items()}


def worst(found: dict[int, float]) -> float:
    """The largest, whatever its sign."""
    assert set(found) == {25, 50, 75}
    return max(abs(error) for error in found.values())


@pytest.mark.parametrize("faster", [0.5, 1.0, 2.0], ids=["faster", "as before", "slower"])
def test_a_second_build_is_known_well(faster: float) -> None:
    """Each edge's time is known, whether this machine is now quicker or busier than it was: within 15 %."""
    before = many(1500)

    assert worst(errors(ran(noisy(before, faster=faster)), Expected(learned=before))) < 0.15


def test_a_first_build_is_known_roughly() -> None:
    """Nothing was learned: what a folder's edges take tells what the others will: within 40 %."""
    assert worst(errors(ran(many(1500)), Expected())) < 0.4


def test_a_warm_build_is_known_after_a_tenth() -> None:
    """What comes from the cache is seen to: nobody is told of the hour that a cold build takes."""
    before = many(1500)
    warm = {name: 0.04 if name.endswith(".o") else took for name, took in before.items()}
    edges = ran(warm)
    graph = parse_build_ninja(build_ninja_text(list(before)))
    forecast = Forecast(before, expected=Expected(learned=before), graph=graph, has_cache=True)
    said = replay(forecast, edges)
    end = max(edge.end_ms for edge in edges) / 1000
    later = [point for point in said if point.done >= len(edges) * 0.1]

    assert abs(later[0].at + later[0].left - end) / end < 0.15


def test_half_a_cache_is_half_the_time() -> None:
    """Every second object is compiled: the rate that is seen is taken for what comes."""
    before = many(1500)
    half = {
        name: 0.04 if name.endswith(".o") and number % 2 else took
        for number, (name, took) in enumerate(before.items())
    }

    assert worst(errors(ran(half), Expected(learned=before), has_cache=True)) < 0.2


def test_the_longest_way_is_the_least_that_is_left() -> None:
    """Two edges wait for one another: eight slots do not help."""
    graph = parse_build_ninja("build a.o: c\nbuild b.so: l a.o\nbuild c.so: l b.so\n")
    learned = {"a.o": 10.0, "b.so": 20.0, "c.so": 30.0}
    forecast = Forecast(learned, expected=Expected(learned=learned), graph=graph)
    forecast.take([LogEdge("a.o", 1, 0, 10_000)])

    assert forecast.left() == pytest.approx(50.0)


def test_nothing_is_said_while_nothing_is_known() -> None:
    """A first edge of a first build tells nobody anything."""
    forecast = Forecast(many(100), expected=Expected())
    forecast.take([LogEdge("a.o", 1, 0, 1000)])

    assert forecast.left() is None


def test_at_the_end_nothing_is_left() -> None:
    """And edges that nobody expected are no harm."""
    edges = ran(many(60))
    forecast = Forecast([edge.output for edge in edges[:50]], expected=Expected())
    forecast.take(edges)

    assert forecast.left(60) == 0.0


def test_slots_are_counted_from_what_ran_at_once() -> None:
    """Nobody has to tell how many jobs there are: a build on sixteen slots is not told for one."""
    before = many(1500)
    edges = ran(before, jobs=16)

    assert worst(errors(edges, Expected(learned=before))) < 0.15


def test_what_is_made_already_is_not_waited_for() -> None:
    """A build that goes on after a kill: what will run is what the log does not have, if ninja counts so."""
    graph = parse_build_ninja(build_ninja_text(list(many(200))))
    made = [name for name in many(200) if name.endswith(".o")][:100]

    assert len(undone(graph, (), 200)) == 200
    assert len(undone(graph, made, 100)) == 100
    assert not set(undone(graph, made, 100)) & set(made)
    assert len(undone(graph, made, 199)) == 200


def test_one_target_is_not_thought_to_be_all() -> None:
    """Only what it needs is left, also where its name stands for a file."""
    graph = parse_build_ninja(build_ninja_text(list(many(200))) + "build short: phony lib/lib3.so\n")

    found = undone(graph, (), 5, "short")

    assert "lib/lib3.so" in found
    assert all(name.startswith(("lib3/", "lib/lib3.so")) for name in found)
    assert len(undone(graph, (), 200, "no such target")) == 200


def test_errors_are_of_what_was_left() -> None:
    """Said 60 s where 50 s were left: a fifth too much. Where nothing was said yet there is none."""
    said = [Checkpoint(40.0, 4, 90.0), Checkpoint(50.0, 5, 60.0)]

    assert errors_at(said, 100.0) == {50: pytest.approx(0.2), 75: pytest.approx(0.2)}


GRAPH, BUILDS = benchmark.logs()
HITS: dict[str, Outcome] = {name: "hit" for name in BUILDS["warm"].seconds() if kind_of(name) == "object"}


def test_a_real_cold_build_is_known_roughly() -> None:
    """Torch 2.6, with facts as only another, shorter build would have shown them: within 40 %."""
    whole = benchmark.without_standstill(BUILDS["cold"])
    said = benchmark.judged(whole, benchmark.means_of(BUILDS["hand"]), GRAPH)

    assert worst(errors_at(said, whole.end)) < 0.4


@pytest.mark.parametrize("name", ["warm", "warm 2", "warm 3"])
def test_a_real_warm_build_is_known_after_a_tenth(name: str) -> None:
    """Torch 2.6 out of the cache, by facts and what an earlier cold build took: within 15 % of the whole."""
    cold = {edge: took for edge, took in BUILDS["cold"].seconds().items() if edge in HITS}
    said = benchmark.judged(BUILDS[name], replace(edge_guesses(), learned=cold), GRAPH, HITS)

    assert abs(benchmark.first_tenth(said, BUILDS[name])) < 0.155


def test_a_second_real_warm_build_is_known_to_the_end() -> None:
    """By what the one before it took: within 17 % of what is left, at any quarter."""
    before = BUILDS["warm 2"].seconds()
    known = replace(
        edge_guesses(),
        learned={name: took for name, took in before.items() if name not in HITS},
        cached={name: took for name, took in before.items() if name in HITS},
    )
    said = benchmark.judged(BUILDS["warm 3"], known, GRAPH, HITS)

    assert worst(errors_at(said, BUILDS["warm 3"].end)) < 0.175
