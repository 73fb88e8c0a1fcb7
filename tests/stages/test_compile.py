"""The stage that compiles, and goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from torchbuild.errors import StageError, UsageError
from torchbuild.model.lock import Lock
from torchbuild.report.events import Progress
from torchbuild.stages import compile as stage

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
        words = ["direct_cache_hit", "preprocessed_cache_hit", "cache_miss", "called_for_link"]
        there.write("{work}/tmp/ccache-stats.log", "# a.cpp\n" + "\n".join(words) + "\n")
        return ninja()(command, there)

    world.executor.replies = [reply]

    result = stage.run(stage.plan(make_lock(compiler_cache="/usr/bin/ccache")), world.context)

    assert result.summary == "3 edges, 2 of 3 compiler calls from the cache"
    assert dict(result.evidence)["cache_called_for_link"] == "1"


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
