"""What the cache says while it works."""

from __future__ import annotations

import time

from torchbuild.report.cache_outcomes import CacheOutcomes

A, B, C = (f"CMakeFiles/t.dir/s/{name}.cpp.o" for name in "abc")


def test_a_log_that_grows_is_read_once() -> None:
    """What came before is still known; a call of which only the source is there waits."""
    seen = CacheOutcomes()
    text = "# /x/s/a.cpp\ndirect_cache_hit\n# /x/s/b.cpp\n"
    seen.take(text)
    first = dict(seen.of([A, B]))
    seen.take(text + "cache_miss\nlocal_storage_miss\n# /x/s/c.cpp\npreprocessed_cache_hit\n")

    assert first == {A: "hit"}
    assert seen.of([A, B, C]) == {A: "hit", B: "miss", C: "hit"}


def test_a_log_that_begins_anew_is_another() -> None:
    """Of an earlier build nothing is left."""
    seen = CacheOutcomes()
    seen.take("# /x/s/a.cpp\ndirect_cache_hit\n" * 2)
    seen.take("# /x/s/b.cpp\ncache_miss\n")

    assert seen.of([A, B]) == {B: "miss"}


def test_nothing_is_known_of_what_is_not_there() -> None:
    """No log, or one of something else."""
    seen = CacheOutcomes()
    seen.take("")
    seen.take("no log\n")

    assert seen.of([A, "lib/libx.so"]) == {}


def test_many_looks_cost_little() -> None:
    """Ten thousand calls, a hundred looks."""
    lines = [f"# /x/s/file{n}.cpp\ndirect_cache_hit\nlocal_storage_hit\n" for n in range(10_000)]
    seen = CacheOutcomes()
    begin = time.process_time()
    for at in range(100, 10_001, 100):
        seen.take("".join(lines[:at]))
        assert len(seen.of(f"CMakeFiles/t.dir/s/file{n}.cpp.o" for n in range(at - 100, at))) == 100

    assert time.process_time() - begin < 5
