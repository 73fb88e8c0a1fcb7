"""Who may compile now, on paper: bytes and seconds are given, and no machine is looked at."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from torchbuild.shim.admission import Edge, Ledger, Peaks
from torchbuild.shim.budget import Room

GB = 1 << 30


def ledger(*predicted: int) -> Ledger:
    """Edges that wait, in this order since 0, 1, 2 … seconds."""
    made = Ledger(64)
    made.waiting = [Edge(f"e{at}", size, float(at)) for at, size in enumerate(predicted)]
    return made


def let_in(made: Ledger, available: int, now: float = 0.0) -> list[str]:
    """Names of those who may go; there is no reserve."""
    room = Room(0, available)
    return [edge.name for edge in made.admitted(room, now, lambda _: True)]


def test_peaks_are_reserved_before_anything_starts() -> None:
    """Two of three fit; the third waits until one has ended."""
    made = ledger(4 * GB, 4 * GB, 4 * GB)

    assert let_in(made, 9 * GB) == ["e0", "e1"]
    assert let_in(made, 9 * GB) == []
    made.over(made.running[0])
    assert let_in(made, 9 * GB) == ["e2"]


def test_one_always_runs() -> None:
    """What is larger than all memory is tried: nobody waits for ever."""
    made = ledger(100 * GB, 1)

    assert let_in(made, 9 * GB) == ["e0"]
    assert let_in(made, 9 * GB) == []


def test_what_is_held_already_is_not_reserved_twice() -> None:
    """Available memory is what is left beside what runs: only what will still be taken counts."""
    made = ledger(4 * GB, 4 * GB)
    assert let_in(made, 5 * GB) == ["e0"]

    made.measured(lambda _: 4 * GB)

    assert let_in(made, 5 * GB) == ["e1"]


def test_what_outgrows_its_peak_is_expected_to_go_on() -> None:
    """A wrong number is corrected while the compiler runs."""
    made = ledger(1 * GB, 4 * GB)
    assert let_in(made, 5 * GB - 1) == ["e0"]

    made.measured(lambda _: 3 * GB)

    assert made.running[0].missing > 0
    assert let_in(made, 4 * GB) == []


def test_small_ones_pass_a_large_one_for_a_while() -> None:
    """Memory does not lie idle; but who came first is not forgotten for longer than twenty seconds."""
    made = ledger(2 * GB, 8 * GB, 1 * GB, 1 * GB)

    assert let_in(made, 4 * GB, now=5.0) == ["e0", "e2", "e3"]
    made.waiting.append(Edge("late", 1, 30.0))
    assert let_in(made, 4 * GB, now=30.0) == []


def test_a_killed_one_runs_alone_once() -> None:
    """It waits until nothing runs, nothing starts beside it, and if it is killed again it stays so."""
    made = ledger(1 * GB, 1 * GB)
    assert let_in(made, 9 * GB) == ["e0", "e1"]
    killed, other = made.running

    assert made.killed(killed, 2 * GB, 1.0)
    made.waiting.append(Edge("late", 1, 2.0))
    assert let_in(made, 9 * GB) == []
    made.over(other)
    assert let_in(made, 9 * GB) == ["e0"]
    assert let_in(made, 9 * GB) == []
    assert not made.killed(killed, 2 * GB, 3.0)


def test_the_youngest_makes_room_and_comes_back() -> None:
    """Where memory is nearly gone the least work is lost; it is no failure, and is expected to be larger."""
    made = ledger(1 * GB, 1 * GB)
    let_in(made, 9 * GB)
    made.measured(lambda _: 3 * GB)
    tight = Room(100 * GB, 1)

    victim = made.to_evict(tight)

    assert victim is not None
    assert victim.name == "e1"
    victim.is_evicted = True
    assert made.to_evict(tight) is None
    assert made.killed(victim, 3 * GB, 1.0)
    assert not victim.is_alone
    assert victim.predicted > 3 * GB
    assert made.to_evict(tight) is None, "the last one is never ended"


def test_a_token_is_needed_too() -> None:
    """Who lent its token and does not get it back goes on waiting, and holds up nobody."""
    made = ledger(1, 1)

    admitted = [edge.name for edge in made.admitted(Room(0, GB), 0.0, lambda edge: edge.name == "e1")]

    assert admitted == ["e1"]


@given(st.lists(st.integers(0, 10 * GB), max_size=12), st.integers(0, 10 * GB))
def test_never_more_than_fits(sizes: list[int], available: int) -> None:
    """Unless there is only one, the peaks of what runs are together no more than there is."""
    made = ledger(*sizes)
    let_in(made, available)

    assert len(made.running) <= 1 or sum(edge.predicted for edge in made.running) <= available
    assert sizes == [] or made.running
    assert len(made.running) + len(made.waiting) == len(sizes)


def test_a_peak_is_what_was_seen_else_what_is_told() -> None:
    """What was learned comes first, then the first fact that fits, then what holds for all others."""
    priors = [
        {"pattern": "flash", "program": "nvcc", "bytes": 50},
        {"pattern": "", "program": "nvcc", "bytes": 10},
    ]
    peaks = Peaks({"learned": {"a/known.o": 1000}, "priors": priors, "other": 7})

    assert peaks.predicted("a/known.o", "g++", 4) == 1100
    assert peaks.predicted("a/flash_fwd.cu.o", "nvcc", 1) == 50
    assert peaks.predicted("a/flash_fwd.cu.o", "nvcc", 2) == 100
    assert peaks.predicted("a/flash.cpp.o", "g++", 0) == 7
    assert peaks.predicted("a/b.cu.o", "nvcc-12", 0) == 10


def test_news_is_what_differs() -> None:
    """A peak that is much the same is learned, and is no news."""
    peaks = Peaks({})

    assert peaks.learn("a.o", 1000)
    assert not peaks.learn("a.o", 1050)
    assert peaks.learn("a.o", 2000)


def test_what_is_unknown_is_taken_for_its_neighbours_like() -> None:
    """The more of a folder were seen, the less larger others are expected to be, and never larger than told."""
    peaks = Peaks({"other": 1000})
    expected = []
    for number in range(7):
        expected.append(peaks.predicted("a/new.o", "g++", 1))
        peaks.learn(f"a/{number}.o", 100)

    assert [round(size, -1) for size in expected] == [1000, 290, 260, 230, 200, 170, 140]
    assert peaks.predicted("a/new.o", "g++", 1) == 140
    assert peaks.predicted("b/new.o", "g++", 1) == 1000
    peaks.learn("a/large.o", 900)
    assert peaks.predicted("a/new.o", "g++", 1) == 400, "one large one makes not all others large"
    for number in range(9):
        peaks.learn(f"a/larger{number}.o", 900)
    assert peaks.predicted("a/new.o", "g++", 1) == 1000


def test_threads_are_jobs() -> None:
    """A compiler of four threads waits until four jobs may start; and what it waits with is lent but once."""
    made = Ledger(4)
    made.waiting = [Edge("a", 1, 0.0), Edge("b", 1, 0.0, threads=4), Edge("c", 1, 0.0)]

    assert let_in(made, GB) == ["a", "c"]
    assert made.idle == 1
    for edge in list(made.running):
        made.over(edge)
    assert let_in(made, GB) == ["b"]
    made.waiting = [Edge(name, 1, 0.0) for name in "defg"]
    assert let_in(made, GB) == []
    assert made.idle == 1


def test_who_grows_fast_makes_room_in_time() -> None:
    """What would be gone by the next look is gone as good as now."""
    made = ledger(1, 1)
    let_in(made, 9 * GB)
    made.measured(lambda _: 1 * GB)

    assert made.to_evict(Room(10 * GB, 3 * GB)) is None
    made.measured(lambda _: 3 * GB)
    assert made.to_evict(Room(10 * GB, 3 * GB)) is not None


def guessed(*sizes: int) -> Ledger:
    """Edges of which nothing is known; they came at once."""
    made = ledger(*sizes)
    for edge in made.waiting:
        edge.is_guess, edge.since = True, 0.0
    return made


def test_who_is_unknown_is_tried_beside_one_that_grows_slowly() -> None:
    """A first build does not go one by one because each might be large: after a second it is seen that none is."""
    made = guessed(8 * GB, 8 * GB, 8 * GB)
    assert let_in(made, 9 * GB) == ["e0"]
    assert let_in(made, 9 * GB, now=0.5) == []
    made.measured(lambda _: GB // 10)

    assert let_in(made, 9 * GB, now=1.0) == ["e1"]
    assert let_in(made, 9 * GB, now=1.5) == [], "one at a time"
    made.measured(lambda _: GB // 10)
    assert let_in(made, 9 * GB, now=2.0) == ["e2"]


def test_who_grows_fast_is_left_alone() -> None:
    """And what is known is never tried where it does not fit."""
    made = guessed(8 * GB, 8 * GB)
    assert let_in(made, 9 * GB) == ["e0"]
    made.measured(lambda _: 3 * GB)
    assert let_in(made, 6 * GB, now=1.0) == []
    made.measured(lambda _: 0)
    made.waiting[0].is_guess = False
    assert let_in(made, 7 * GB, now=2.0) == []


def test_after_some_mistakes_nobody_guesses() -> None:
    """Each mistake is a compiler that has to begin again."""
    made = guessed(8 * GB, 8 * GB, 8 * GB)
    assert let_in(made, 9 * GB) == ["e0"]
    for _ in range(2):
        (edge,) = made.running
        edge.is_evicted = True
        made.killed(edge, 0, 0.0)
        assert let_in(made, 9 * GB) == ["e0"]

    assert let_in(made, 9 * GB, now=5.0) == []


def test_ten_thousand_edges_cost_no_more_each_than_a_thousand() -> None:
    """In one folder, as a generated tree has them, with a few that always wait."""

    def each(count: int) -> float:
        made, peaks = Ledger(8), Peaks({"other": GB})
        begin = time.process_time()
        for number in range(count):
            name = f"a/{number}.o"
            made.waiting.append(Edge(name, peaks.predicted(name, "g++", 1), 0.0))
            let_in(made, 8 * GB)
            if len(made.running) > 6:
                peaks.learn(made.running[0].name, GB // 2)
                made.over(made.running[0])
        return (time.process_time() - begin) / count

    each(100)
    assert each(10_000) < 3 * min(each(1000) for _ in range(3))


def test_who_holds_nothing_makes_no_room() -> None:
    """One that nobody can see, or that has only begun, is not ended for nothing."""
    made = ledger(1, 1)
    let_in(made, 9 * GB)
    made.measured(lambda edge: 3 * GB if edge.name == "e0" else 0)

    victim = made.to_evict(Room(100 * GB, 1))

    assert victim is not None
    assert victim.name == "e0"


def send(made: Ledger, available: int, hosts: list[str]) -> list[str]:
    """Names of those who are sent away."""
    for edge in made.waiting:
        edge.stays = ""
    return [edge.name for edge in made.sent(Room(0, available), lambda: hosts.pop(0) if hosts else None)]


def test_what_is_compiled_elsewhere_does_not_take_its_peak_here() -> None:
    """Ten that take all memory each go to machines that have room; a little is kept for what remains here."""
    made = ledger(*[100 * GB] * 10)

    assert send(made, GB, list("abc")) == ["e0", "e1", "e2"]
    assert [edge.host for edge in made.away] == ["a", "b", "c"]
    assert sum(edge.missing for edge in made.away) < GB


def test_without_memory_for_what_remains_here_nobody_goes() -> None:
    """Preprocessing is work of this machine."""
    made = ledger(1, 1)

    assert send(made, 1 << 20, list("ab")) == ["e0"], "one always goes"
    assert send(made, 1 << 20, list("b")) == []


def test_what_comes_back_is_admitted_like_all_else() -> None:
    """A pool that is gone does not put all its compilers on this machine at once."""
    made = ledger(4 * GB, 4 * GB, 4 * GB)
    send(made, 9 * GB, list("abc"))
    for edge in list(made.away):
        made.returned(edge, 1.0)

    assert len(let_in(made, 9 * GB)) == 2


def test_what_came_back_twice_is_compiled_here() -> None:
    """Machines that fail one after the other keep no edge for ever."""
    made = ledger(1)
    for _ in range(2):
        assert send(made, GB, ["a"]) == ["e0"]
        made.returned(made.away[0], 0.0)

    assert send(made, GB, ["a"]) == []


def test_tokens_of_who_is_away_are_owed() -> None:
    """Each is taken back when its owner has ended, here or elsewhere."""
    made = ledger(1, 1)
    send(made, GB, ["a"])
    made.away[0].is_lent = made.waiting[0].is_lent = True

    assert made.owed == 2
    made.over(made.away[0])
    assert made.owed == 1
