"""The stage that compiles, and goes on where it was stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.records import StageRecords
from torchbuild.errors import Interrupted, OutOfTime, StageError, UsageError
from torchbuild.model.lock import Lock
from torchbuild.model.stage import StageResult
from torchbuild.model.stopped import Reason
from torchbuild.report.events import Found, Progress
from torchbuild.stages import compile as stage
from torchbuild.stages import configure

USAGE = {"exit_code": 0, "seconds": 9.5, "user_seconds": 17.0, "peak_memory_bytes": 5}
LINES = [
    "[1/3] Building CXX object CMakeFiles/a.dir/a.cpp.o",
    "[2/3] cd /torchbuild/source/build && /torchbuild/venv/bin/python version.py",
    "[3/3] Linking CXX shared library liba.so",
]


def ninja(
    *, code: int = 0, lines: Sequence[str] = LINES, usage: dict[str, Any] | None = None, wheels: int = 1
) -> Callable[[Any, Any], Any]:
    """Ninja runs behind the gate, and the front end packs what came of it."""

    def reply(_command: Any, world: Any) -> tuple[int, Sequence[str]]:
        told = USAGE if usage is None else usage
        if told:
            world.write("{shim}/compile.json", json.dumps(told))
        for number in range(wheels):
            world.write(f"{{dist}}/torchlet-{number}.whl", "")
        return code, lines

    return reply


def test_the_plan_comes_from_the_lock_alone(lock: Lock, nothing_moves: Callable[[], Any]) -> None:
    """It is configure's command again: what is compiled is what was compared."""
    with nothing_moves():
        plan = stage.plan(lock)

    assert plan.makes == ("{dist}",)
    assert plan.needs == ("configure",)
    assert dict(plan.commands[0].environ)["PYTHONHASHSEED"] == "0"


def test_the_shim_is_told_to_compare_again_and_build(world: Any, make_lock: Callable[..., Lock]) -> None:
    """Configure may have run anew: nothing is compiled on the word of an earlier comparison."""
    world.executor.replies = [ninja()]
    lock = make_lock(compiler_cache="/usr/bin/ccache")

    stage.run(stage.plan(lock), world.context)

    order = json.loads(world.inside("{shim}/order.json").read_text(encoding="utf-8"))
    assert order["mode"] == "build"
    assert order["target"] is None
    assert order["statslog"] == "/torchbuild/tmp/ccache-stats.log"
    assert len(order["expect"]) == 1


def test_progress_names_what_is_made(world: Any, lock: Lock) -> None:
    """A person watching sees how far it is and at what; a custom command is shown by its beginning."""
    world.executor.replies = [ninja()]

    stage.run(stage.plan(lock), world.context)

    told = [(event.done, event.total, event.what) for event in world.events if isinstance(event, Progress)]
    assert told == [
        (1, 3, "CMakeFiles/a.dir/a.cpp.o"),
        (2, 3, "cd /torchbuild/source/build && /torchbuild/venv/bin/python version.py"),
        (3, 3, "liba.so"),
    ]


def test_the_price_is_kept(world: Any, lock: Lock) -> None:
    """Wall and processor time, memory and the number of edges are in the report."""
    world.executor.replies = [ninja()]

    result = stage.run(stage.plan(lock), world.context)

    assert result.summary == "3 edges"
    assert not result.stopped
    assert dict(result.evidence) == {
        "edges": "3",
        "peak_memory_bytes": "5",
        "seconds": "9.5",
        "user_seconds": "17.0",
        "wall_seconds": "1.5",
    }


def test_compiler_cache_statistics_are_of_this_build_alone(
    world: Any, make_lock: Callable[..., Lock]
) -> None:
    """Each compiler call is counted once, and none of an earlier run."""
    world.write("{work}/tmp/ccache-stats.log", "cache_miss\n" * 50)

    def reply(command: Any, there: Any) -> Any:
        calls = ["direct_cache_hit", "preprocessed_cache_hit", "cache_miss", "called_for_link"]
        there.write("{work}/tmp/ccache-stats.log", "".join(f"# a.cpp\n{word}\n" for word in calls))
        return ninja()(command, there)

    world.executor.replies = [reply]

    result = stage.run(stage.plan(make_lock(compiler_cache="/usr/bin/ccache")), world.context)

    assert result.summary == "3 edges, 2 of 3 compiler calls from the cache"
    assert dict(result.evidence)["cache_not_taken_called_for_link"] == "1"


def test_a_failing_edge_is_shown_with_its_own_output(world: Any, lock: Lock) -> None:
    """The cause is the first failing edge, not the last lines of a parallel build."""
    lines = [
        LINES[0],
        "FAILED: CMakeFiles/b.dir/b.cpp.o",
        "/usr/bin/g++ -c b.cpp",
        "b.cpp:3:5: error: 'x' was not declared in this scope",
        "[2/3] Building CXX object CMakeFiles/c.dir/c.cpp.o",
        "FAILED: CMakeFiles/d.dir/d.cpp.o",
        "d.cpp:1:1: error: a second one",
        "ninja: build stopped: subcommand failed.",
    ]
    world.executor.replies = [ninja(code=1, lines=lines, usage={"exit_code": 1}, wheels=0)]

    with pytest.raises(StageError) as caught:
        stage.run(stage.plan(lock), world.context)

    assert caught.value.reference == "compile-failed"
    assert caught.value.what == "compile stopped with exit code 1 at CMakeFiles/b.dir/b.cpp.o"
    assert caught.value.why == ("b.cpp:3:5: error: 'x' was not declared in this scope",)
    assert caught.value.evidence == tuple(lines[1:4])
    assert "torchbuild shell run-1" in caught.value.fix


def test_a_compiler_that_was_killed_twice_is_told_as_such(world: Any, lock: Lock) -> None:
    """Not as a compile error: the memory that it had is what people must know."""
    lines = [
        LINES[0],
        "torchbuild: b.o was killed twice, the second time alone, with 900 MiB",
        "FAILED: b.o",
        "g++: fatal error: Killed signal terminated program cc1plus",
    ]
    world.executor.replies = [ninja(code=1, lines=lines, usage={"exit_code": 1}, wheels=0)]

    with pytest.raises(StageError) as caught:
        stage.run(stage.plan(lock), world.context)

    assert caught.value.reference == "compiler-killed"
    assert caught.value.evidence == tuple(lines[2:])


def test_a_failure_of_ninja_itself_is_named(world: Any, lock: Lock) -> None:
    """What ninja refuses before the first edge is ninja's word, not an edge's."""
    lines = ["ninja: error: 'a.cpp', needed by 'a.o', missing and no known rule to make it"]
    world.executor.replies = [ninja(code=1, lines=lines, usage={"exit_code": 1}, wheels=0)]

    with pytest.raises(StageError) as caught:
        stage.run(stage.plan(lock), world.with_target("c10"))

    assert (caught.value.reference, caught.value.why) == ("compile-failed", tuple(lines))


@pytest.mark.parametrize("more", ["", ", did you mean 'c10'?"])
def test_a_target_that_there_is_not_is_the_callers_mistake(world: Any, lock: Lock, more: str) -> None:
    """It is told as such, with the names that the build tree has, and not as a failed compile."""
    world.write("{source}/build/build.ninja", "build c10: phony lib/libc10.so\nbuild all: phony c10\n")
    lines = [f"ninja: error: unknown target 'c11'{more}", *["a line of the front end"] * 300]
    world.executor.replies = [ninja(code=1, lines=lines, usage={"exit_code": 1}, wheels=0)]

    with pytest.raises(UsageError) as caught:
        stage.run(stage.plan(lock), world.with_target("c11"))

    assert caught.value.reference == "target-unknown"
    assert caught.value.what == "the tree has no target 'c11'"
    assert caught.value.why == ("nearest: c10",)
    assert "torchbuild shell run-1 ninja -C build -t targets all" in caught.value.fix


def test_without_a_build_file_there_is_nothing_near(world: Any, lock: Lock) -> None:
    """The mistake is told all the same."""
    lines = ["ninja: error: unknown target 'c11'"]
    world.executor.replies = [ninja(code=1, lines=lines, usage={"exit_code": 1}, wheels=0)]

    with pytest.raises(UsageError) as caught:
        stage.run(stage.plan(lock), world.with_target("c11"))

    assert caught.value.why == ("nothing in its build files has a name like that",)


def test_one_target_stops_there(world: Any, lock: Lock) -> None:
    """The stage says that it stopped as asked, and does not count as done."""
    world.executor.replies = [ninja(code=1, wheels=0)]

    result = stage.run(stage.plan(lock), world.with_target("c10"))

    assert result.stopped
    assert result.summary == "stopped after c10, as asked"
    assert json.loads(world.inside("{shim}/order.json").read_text(encoding="utf-8"))["target"] == "c10"


def test_the_gate_may_still_refuse(world: Any, lock: Lock) -> None:
    """What configure let pass and a later reconfigure changed is refused with the same words."""

    def reply(command: Any, there: Any) -> Any:
        finding = {
            "reference": "gate-flag",
            "outcome": "failed",
            "what": "USE_MPI",
            "seen": "ON",
            "wanted": "OFF",
        }
        there.write("{shim}/gate.json", json.dumps({"findings": [finding]}))
        return ninja(code=1, usage={}, wheels=0)(command, there)

    world.executor.replies = [reply]

    with pytest.raises(StageError) as caught:
        stage.run(stage.plan(lock), world.context)

    assert caught.value.reference == "gate-refused"


def test_a_wheel_that_no_ninja_of_ours_made_does_not_count(world: Any, lock: Lock) -> None:
    """A front end that ends well without the gate has compiled who knows what."""
    world.executor.replies = [ninja(usage={})]

    with pytest.raises(StageError) as caught:
        stage.run(stage.plan(lock), world.context)

    assert caught.value.reference == "gate-bypassed"


@pytest.mark.parametrize("wheels", [0, 2])
def test_exactly_one_wheel_must_come_out(world: Any, lock: Lock, wheels: int) -> None:
    """None or several: nobody can say which one was meant."""
    world.executor.replies = [ninja(wheels=wheels)]

    with pytest.raises(StageError) as caught:
        stage.run(stage.plan(lock), world.context)

    assert caught.value.reference == "wheel-missing"


def test_old_wheels_are_gone_before(world: Any, lock: Lock) -> None:
    """A wheel of an earlier attempt is never taken for this one's."""
    world.write("{dist}/old.whl", "")
    world.write("{dist}/folder/left.txt", "")
    world.executor.replies = [ninja()]

    stage.run(stage.plan(lock), world.context)

    assert [path.name for path in world.inside("{dist}").iterdir()] == ["torchlet-0.whl"]


def refused(_command: Any, there: Any) -> tuple[int, Sequence[str]]:
    """CMake ran again, and its cache still says what the tree no longer does."""
    is_kept = there.inside("{source}/build/CMakeCache.txt").exists()
    finding = {
        "reference": "gate-flag",
        "outcome": "failed",
        "what": "USE_EXTRA",
        "seen": "ON",
        "wanted": "OFF",
    }
    there.write("{shim}/gate.json", json.dumps({"findings": [finding] if is_kept else []}))
    return ninja(code=91, usage={}, wheels=0)(_command, there) if is_kept else ninja()(_command, there)


def test_what_cmake_kept_is_forgotten_where_people_edit(world: Any, lock: Lock) -> None:
    """An option that an edit took away does not stop the build for ever; it is told."""
    world.write("{source}/build/CMakeCache.txt", "USE_EXTRA:BOOL=ON")
    world.executor.replies = [refused, refused]

    result = stage.run(stage.plan(lock), replace(world.context, is_dev=True))

    assert [(item.reference, item.outcome) for item in result.findings] == [("cache-forgotten", "warned")]
    assert len(world.executor.commands) == 2


def test_a_refusal_of_a_clean_build_stands(world: Any, lock: Lock) -> None:
    """Nobody edits there: what was compared once and is other now is a fault."""
    world.write("{source}/build/CMakeCache.txt", "USE_EXTRA:BOOL=ON")
    world.executor.replies = [refused, refused]

    with pytest.raises(StageError) as caught:
        stage.run(stage.plan(lock), world.context)

    assert caught.value.reference == "gate-refused"
    assert len(world.executor.commands) == 1


def stale(_command: Any, there: Any) -> tuple[int, Sequence[str]]:
    """The objects that lie there are another compiler's."""
    is_kept = there.inside("{source}/build/a.o").exists()
    finding = {
        "reference": "tree-fingerprint",
        "outcome": "failed" if is_kept else "passed",
        "what": "/usr/lib/gcc/cc1plus",
        "seen": "sha256 bb",
        "wanted": "sha256 aa",
    }
    there.write("{shim}/gate.json", json.dumps({"findings": [finding]}))
    return ninja(code=91, usage={}, wheels=0)(_command, there) if is_kept else ninja()(_command, there)


@pytest.mark.parametrize("is_dev", [False, True])
def test_objects_of_another_compiler_are_made_anew(world: Any, lock: Lock, is_dev: bool) -> None:
    """The tree goes whole, what differed is told, and configure stays done for the next run."""
    world.write("{source}/build/a.o", "another compiler's")
    world.executor.replies = [stale, stale]

    result = stage.run(stage.plan(lock), replace(world.context, is_dev=is_dev))

    assert result.findings[0].reference == "tree-begun-anew"
    assert "/usr/lib/gcc/cc1plus: was sha256 aa, now sha256 bb" in result.findings[0].what
    assert not world.inside("{source}/build/a.o").exists()
    assert world.inside("{source}/build/.torchbuild-configured").read_text() == "1 values compared\n"
    assert len(world.executor.commands) == 2


@dataclass
class Asked:
    """Somebody asks while compilers run."""

    reason: Reason
    marks: list[Path] = field(default_factory=list)

    @contextmanager
    def gently(self, mark: Path) -> Iterator[None]:
        """The file that ninja looks for; none of an earlier run is left by then."""
        assert not mark.exists()
        self.marks.append(mark)
        yield


@pytest.mark.parametrize(("reason", "family"), [("interrupt", Interrupted), ("time", OutOfTime)])
def test_who_stops_it_is_told_how_far_it_came(
    world: Any, lock: Lock, reason: Reason, family: type[Interrupted]
) -> None:
    """What ran was finished and is counted; what was learned is kept; it is no failure."""
    world.write("{shim}/stop-asked", "")
    usage = {**USAGE, "exit_code": 130, "stopped": True}
    world.executor.replies = [ninja(code=1, lines=[LINES[0]], usage=usage, wheels=0)]
    asked = Asked(reason)

    with pytest.raises(Interrupted, match="after 1 of 3 edges of compile") as caught:
        stage.run(stage.plan(lock), replace(world.context, stopping=asked))

    assert type(caught.value) is family
    assert asked.marks == [world.inside("{shim}/stop-asked")]


def test_what_became_of_a_pool_is_told_of_a_stopped_build_too(world: Any, lock: Lock) -> None:
    """Who stops it learns what each machine has done until then."""
    row = {"sent": 2, "done": 1, "back": 1, "why": {"gone": 1}}
    usage = {**USAGE, "exit_code": 130, "stopped": True}

    def reply(command: Any, inside: Any) -> tuple[int, Sequence[str]]:
        inside.write("{shim}/pool-used.json", json.dumps({"hosts": {"a:1": row}, "stayed": {}}))
        told: tuple[int, Sequence[str]] = ninja(code=1, lines=[], usage=usage, wheels=0)(command, inside)
        return told

    world.executor.replies = [reply]

    with pytest.raises(Interrupted):
        stage.run(stage.plan(lock), replace(world.context, stopping=Asked("interrupt")))

    found = [event.finding for event in world.events if isinstance(event, Found)]
    assert [item.seen for item in found if item.reference == "pool-used"] == [
        "1 of 2 that were sent; 1 times: gone"
    ]


def test_who_stops_it_before_the_first_edge(world: Any, lock: Lock) -> None:
    """Nothing was made, and nothing is missing."""
    usage = {"exit_code": 95, "stopped": True}
    world.executor.replies = [ninja(code=1, lines=[], usage=usage, wheels=0)]

    with pytest.raises(Interrupted, match="before the first edge of compile"):
        stage.run(stage.plan(lock), replace(world.context, stopping=Asked("interrupt")))


STALE = (
    "build/lib.linux-x86_64-cpython-313/torchlet/gone.py",
    "build/bdist.linux-x86_64/wheel/gone.py",
    "torchlet.egg-info/SOURCES.txt",
    "torchlet/lib/libgone.so",
)
KEPT = (
    "build/lib/libtorchlet.so",
    "build/libtorchlet.so",
    "build/a.o",
    "build/temp.linux-x86_64-cpython-313/a.o",
    "laid.egg-info/PKG-INFO",
    "torchlet/lib/laid.txt",
    "torchlet/__init__.py",
)


def kept_tree(world: Any) -> None:
    """A tree that was built once, with what the front end and CMake's install step laid."""
    for name in (*STALE, *KEPT):
        world.write(f"{{source}}/{name}", "")
    laid = dict.fromkeys(("laid.egg-info/PKG-INFO", "torchlet/lib/laid.txt", "torchlet/__init__.py"), "state")
    world.write("{work}/source.states.json", json.dumps(laid))
    installed = [
        f"/torchbuild/source/{name}" for name in ("torchlet/lib/libgone.so", "torchlet/lib/laid.txt")
    ]
    elsewhere = ["/etc/passwd", "/torchbuild/source/../venv/bin/python", "/torchbuild/source/torchlet"]
    world.write("{source}/build/install_manifest.txt", "\n".join([*installed, *elsewhere]))
    world.write("{venv}/bin/python", "")


def test_what_was_packed_before_is_not_packed_again_where_people_edit(world: Any, lock: Lock) -> None:
    """A file that the source no longer has is not in the wheel; what ninja made and the source laid stays."""
    kept_tree(world)
    left: list[str] = []

    def reply(command: Any, there: Any) -> Any:
        left.extend(name for name in (*STALE, *KEPT) if there.inside(f"{{source}}/{name}").exists())
        return ninja()(command, there)

    world.executor.replies = [reply]

    stage.run(stage.plan(lock), replace(world.context, is_dev=True))

    assert left == list(KEPT)
    assert world.inside("{venv}/bin/python").exists()


def test_one_target_leaves_what_is_installed(world: Any, lock: Lock) -> None:
    """It packs nothing, and lays nothing in the place of what would be removed."""
    kept_tree(world)
    world.executor.replies = [ninja(code=1, wheels=0)]

    stage.run(stage.plan(lock), replace(world.context, is_dev=True, target="c10"))

    assert all(world.inside(f"{{source}}/{name}").exists() for name in STALE)


def test_a_target_that_there_is_not_is_refused_also_where_all_is_done(world: Any, lock: Lock) -> None:
    """A misspelt name is no success; a right one is, and nothing is done for it."""
    world.write("{source}/build/build.ninja", "build c10: phony lib/libc10.so\nbuild all: phony c10\n")
    plan = stage.plan(lock)

    with pytest.raises(UsageError) as caught:
        stage.restore(plan, world.with_target("c11"))

    assert (caught.value.reference, caught.value.why) == ("target-unknown", ("nearest: c10",))
    assert stage.restore(plan, world.with_target("c10")) is False
    assert stage.restore(plan, world.context) is False
    assert world.executor.commands == []


def compiled(world: Any, lock: Lock) -> tuple[Any, Any]:
    """Configured and compiled, with an object in the build tree; the object and configure's plan."""
    for name in ("{shim}/gate.json", "{source}/build/.torchbuild-configured", "{source}/build/.ninja_log"):
        world.write(name, "")
    earlier = configure.plan(lock)
    world.context.records.remember("configure", earlier.key, earlier.makes, StageResult(summary="x"))
    made = world.write("{source}/build/a.o", "an object")
    world.executor.replies = [ninja()]
    stage.run(stage.plan(lock), world.context)
    return made, earlier


def test_a_damaged_object_makes_the_build_tree_anew(world: Any, lock: Lock) -> None:
    """Ninja would link it again and again: the stage that wipes the tree is not done any more."""
    made, earlier = compiled(world, lock)
    paranoid = StageRecords(world.workspace, paranoid=True)
    whole = [
        records.reuse("configure", earlier.key, earlier.makes)
        for records in (world.context.records, paranoid)
    ]
    before = made.stat()
    made.write_text("an Object", encoding="utf-8")
    os.utime(made, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert None not in whole
    assert world.context.records.reuse("configure", earlier.key, earlier.makes) is not None
    assert paranoid.reuse("configure", earlier.key, earlier.makes) is None


def test_an_object_that_was_made_again_is_no_damage_while_compile_runs(world: Any, lock: Lock) -> None:
    """Killed in the middle, the next run goes on; it does not begin anew."""
    made, earlier = compiled(world, lock)

    def reply(_command: Any, _there: Any) -> Any:
        made.write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    world.executor.replies = [reply]
    with pytest.raises(KeyboardInterrupt):
        stage.run(stage.plan(lock), world.context)

    assert world.context.records.reuse("configure", earlier.key, earlier.makes) is not None


def test_what_ninja_notes_for_itself_is_not_watched(world: Any, lock: Lock) -> None:
    """A question in a shell writes there, and costs nobody an hour."""
    _, earlier = compiled(world, lock)
    world.write("{source}/build/.ninja_log", "# ninja log v7")

    assert world.context.records.reuse("configure", earlier.key, earlier.makes) is not None


def grows(world: Any, count: int) -> Callable[[Any, Any], Any]:
    """Ninja makes so many objects, three at a time, each in three seconds, and notes each when it is made."""

    class Lines(Sequence[str]):
        def __len__(self) -> int:
            return count

        def __getitem__(self, index: Any) -> Any:
            if isinstance(index, slice):
                return [self[at] for at in range(*index.indices(count))]
            if not 0 <= index < count:
                raise IndexError
            starts = [3000 * (n // 3) for n in range(index + 1)]
            rows = [f"{at}\t{at + 3000}\t{10**18 + at * 10**6}\to{n}.o\t{n}" for n, at in enumerate(starts)]
            world.write("{source}/build/.ninja_log", "\n".join(["# ninja log v7", *rows, ""]))
            return f"[{index + 1}/{count}] Building CXX object o{index}.o"

    def reply(_command: Any, there: Any) -> tuple[int, Sequence[str]]:
        there.write("{shim}/compile.json", json.dumps(USAGE))
        there.write("{dist}/torchlet-0.whl", "")
        there.write("{source}/build/build.ninja", "".join(f"build o{n}.o: cc\n" for n in range(count)))
        return 0, Lines()

    return reply


def test_how_long_it_still_takes_is_said_and_proved(world: Any, make_lock: Callable[..., Lock]) -> None:
    """While it runs; afterwards the report says how wrong that was, and the next build knows from the start."""
    lock = make_lock(compiler_cache="none")
    world.executor.replies = [grows(world, 100)]
    result = stage.run(stage.plan(lock), world.context)
    first = [event.left_s for event in world.events if isinstance(event, Progress)]
    world.write("{source}/build/.ninja_log", "")
    world.executor.replies = [grows(world, 100)]
    stage.run(stage.plan(lock), world.context)
    second = [event.left_s for event in world.events if isinstance(event, Progress)][100:]

    assert first[0] is None
    assert [left for left in first if left is not None][-1] == 0.0
    assert abs(int(dict(result.evidence)["estimate_error_at_50"].rstrip("%"))) < 10
    assert second[0] == pytest.approx(99.0, rel=0.05)


def test_peaks_of_memory_are_kept_for_the_next_build(world: Any, lock: Lock) -> None:
    """What compilers took is in the store, and the next build is told, in whatever workspace it is."""
    world.write("{shim}/peaks.jsonl", '{"edge": "killed.o", "bytes": 7}\n')

    def reply(command: Any, there: Any) -> Any:
        there.write("{shim}/peaks.jsonl", '{"edge": "a.o", "bytes": 9}\n')
        return ninja()(command, there)

    world.executor.replies = [reply, ninja()]
    stage.run(stage.plan(lock), world.context)
    stage.run(stage.plan(lock), world.context)

    told = json.loads(world.inside("{shim}/expected-peaks.json").read_text(encoding="utf-8"))
    assert told["learned"] == {"a.o": 9, "killed.o": 7}
    assert not world.inside("{shim}/peaks.jsonl").exists()
    assert (world.store.root() / "learned" / "compiler-peaks.json").is_file()


def test_a_store_that_may_only_be_read_still_serves(world: Any, lock: Lock) -> None:
    """No build fails for want of a place for what it learned."""
    (world.store.root()).mkdir(exist_ok=True)
    (world.store.root() / "learned").write_text("in the way")
    world.write("{shim}/peaks.jsonl", '{"edge": "a.o", "bytes": 9}\n')
    world.executor.replies = [ninja()]

    assert stage.run(stage.plan(lock), world.context).summary == "3 edges"
