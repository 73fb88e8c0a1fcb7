"""What edges take now."""

from __future__ import annotations

import pytest

from torchbuild.report.edge_speed import EdgeSpeed
from torchbuild.report.expected import Expected

OBJECTS = [f"f{n % 4}/CMakeFiles/t.dir/s{n % 4}/file{n}.cpp.o" for n in range(400)]
LEARNED = dict.fromkeys(OBJECTS, 10.0) | {"lib/liba.so": 4.0}


def speed(expected: Expected, *, has_cache: bool = False) -> EdgeSpeed:
    """Before anything has ended."""
    return EdgeSpeed(expected, {name: expected.of(name) for name in LEARNED}, has_cache=has_cache)


def test_before_anything_is_seen_all_is_as_expected() -> None:
    """Whatever is known counts as it is."""
    assert speed(Expected(learned=LEARNED)).now({"lib/liba.so": 4.0, OBJECTS[0]: 10.0}) == {
        "lib/liba.so": 4.0,
        OBJECTS[0]: 10.0,
    }


def test_a_slower_machine_is_noticed_and_one_edge_is_not_believed() -> None:
    """One object that takes thrice as long says little; a quarter of them says nearly all."""
    seen = speed(Expected(learned=LEARNED))
    seen.note(OBJECTS[0], 30.0, None)
    one = seen.now({OBJECTS[-1]: 10.0})[OBJECTS[-1]]
    for name in OBJECTS[1:100]:
        seen.note(name, 30.0, None)

    assert one < 14
    assert seen.now({OBJECTS[-1]: 10.0})[OBJECTS[-1]] == pytest.approx(30.0, rel=0.15)


def test_kinds_are_sampled_apart() -> None:
    """Objects that come quickly make no link quick, once links have been seen."""
    names = {f"lib/lib{n}.so": 4.0 for n in range(40)}
    expected = Expected(learned=LEARNED | names)
    seen = EdgeSpeed(expected, {name: expected.of(name) for name in expected.learned}, has_cache=False)
    for name in OBJECTS[:200]:
        seen.note(name, 5.0, None)
    for name in list(names)[:10]:
        seen.note(name, 4.0, None)

    now = seen.now({"lib/lib39.so": 4.0, OBJECTS[-1]: 10.0})

    assert now["lib/lib39.so"] == pytest.approx(4.0, rel=0.15)
    assert now[OBJECTS[-1]] == pytest.approx(5.0, rel=0.15)


def test_a_folder_is_like_itself_where_nothing_was_learned() -> None:
    """Its edges tell what its others will take; those of other folders are not touched by it."""
    seen = speed(Expected(guess=lambda _: 6.0))
    for name in OBJECTS[:200]:
        seen.note(name, 60.0 if "/s1/" in name else 6.0, None)

    now = seen.now({OBJECTS[397]: 6.0, OBJECTS[398]: 6.0})

    assert "/s1/" in OBJECTS[397]
    assert now[OBJECTS[397]] > 45
    assert now[OBJECTS[398]] < 9


@pytest.mark.parametrize("is_told", [True, False], ids=["the cache tells", "it does not"])
def test_hits_are_known_by_what_the_cache_says_or_by_their_time(is_told: bool) -> None:
    """An object that comes out of the cache says nothing of those that do not."""
    seen = speed(Expected(learned=LEARNED), has_cache=True)
    for name in OBJECTS[:100]:
        seen.note(name, 0.02, "hit" if is_told else None)

    now = seen.now({OBJECTS[-1]: 10.0, "lib/liba.so": 4.0})

    assert now[OBJECTS[-1]] == pytest.approx(0.02, rel=0.01)
    assert now["lib/liba.so"] == 4.0


def test_a_quick_object_that_was_compiled_is_no_hit() -> None:
    """The cache knows best: a machine may be ten times as fast as the one that was learned from."""
    seen = speed(Expected(learned=LEARNED), has_cache=True)
    for name in OBJECTS[:100]:
        seen.note(name, 1.0, "miss")

    assert seen.now({OBJECTS[-1]: 10.0})[OBJECTS[-1]] == pytest.approx(1.0, rel=0.9)


def test_hits_cluster_by_folder() -> None:
    """One folder's files all changed: its others are compiled too, and those of the other folders are not."""
    seen = speed(Expected(learned=LEARNED), has_cache=True)
    for name in OBJECTS[:200]:
        seen.note(name, 10.0 if "/s2/" in name else 0.02, "miss" if "/s2/" in name else "hit")

    now = seen.now({OBJECTS[398]: 10.0, OBJECTS[399]: 10.0})

    assert "/s2/" in OBJECTS[398]
    assert now[OBJECTS[398]] > 8
    assert now[OBJECTS[399]] < 1


def test_what_a_hit_takes_is_sampled() -> None:
    """A slow disk makes every hit slow, that of a large file more than that of a small one."""
    cached = dict.fromkeys(OBJECTS, 0.02) | {OBJECTS[-1]: 2.0}
    seen = speed(Expected(learned=LEARNED, cached=cached), has_cache=True)
    for name in OBJECTS[:399]:
        seen.note(name, 0.06, "hit")

    assert 4.0 < seen.now({OBJECTS[-1]: 10.0})[OBJECTS[-1]] < 6.5


def test_an_edge_that_nobody_expected_is_no_harm() -> None:
    """It belongs to no kind that is left."""
    seen = EdgeSpeed(Expected(), {"a.o": 6.0}, has_cache=True)
    seen.note("lib/libx.so", 5.0, None)
    seen.note("b.cu.o", 5.0, "miss")
    seen.note("", 0.0, "other")

    assert seen.now({"a.o": 6.0})["a.o"] >= 0
