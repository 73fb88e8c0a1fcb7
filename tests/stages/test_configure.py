"""The stage at whose end nothing is compiled, and everything is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from torchbuild.errors import StageError
from torchbuild.model.fingerprint import FINGERPRINT
from torchbuild.model.lock import Lock
from torchbuild.report.events import Found
from torchbuild.stages import configure


def gate(outcome: str = "passed", code: int = 1, **changed: str) -> Callable[[Any, Any], Any]:
    """The front end reaches ninja, which compares and stops it."""
    finding = {"reference": "gate-flag", "outcome": outcome, "what": "USE_CUDA (build.flags.USE_CUDA)"}
    finding |= {"seen": "OFF: OFF (BOOL)", "wanted": "OFF"} | changed

    def reply(_command: Any, world: Any) -> tuple[int, list[str]]:
        world.write("{shim}/gate.json", json.dumps({"findings": [finding]}))
        world.write("{source}/build/build.ninja", "")
        return code, ["-- Configuring done", "torchbuild: configured and compared"]

    return reply


def test_the_plan_comes_from_the_lock_alone(lock: Lock, nothing_moves: Callable[[], Any]) -> None:
    """One command for every era, with nothing in its environment but what the lock says."""
    with nothing_moves():
        plan = configure.plan(lock)

    (command,) = plan.commands
    assert command.argv[:6] == (
        "{venv}/bin/python",
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
    )
    assert dict(command.environ)["USE_CUDA"] == "OFF"
    assert plan.expect == lock.expect


def test_the_shim_is_told_to_stop_at_the_gate(world: Any, lock: Lock) -> None:
    """The order holds what the lock expects, and no compile follows."""
    world.executor.replies = [gate()]

    configure.run(configure.plan(lock), world.context)

    order = json.loads(world.inside("{shim}/order.json").read_text(encoding="utf-8"))
    assert order["mode"] == "gate"
    assert order["build_dir"] == "/torchbuild/source/build"
    assert [item["key"] for item in order["expect"]] == ["USE_CUDA"]


def test_an_old_build_tree_decides_nothing(world: Any, lock: Lock) -> None:
    """A cache of an earlier attempt, its answers and its wheel are gone before the front end starts."""
    stale = [
        world.write("{source}/build/CMakeCache.txt", "USE_CUDA:BOOL=ON"),
        world.write("{dist}/old.whl", ""),
        world.write("{shim}/gate.json", json.dumps({"findings": []})),
    ]
    seen: list[bool] = []

    def reply(command: Any, there: Any) -> Any:
        seen.extend(path.exists() for path in stale)
        return gate()(command, there)

    world.executor.replies = [reply]

    configure.run(configure.plan(lock), world.context)

    assert seen == [False, False, False]


def test_what_the_machine_adds_is_the_number_of_jobs(world: Any, lock: Lock) -> None:
    """A tree that writes its number of jobs into the build files sees the machine's, as in compile."""
    world.executor.replies = [gate()]

    configure.run(configure.plan(lock), world.context)

    planned, ran = dict(configure.plan(lock).commands[0].environ), dict(world.executor.commands[0].environ)
    assert ran == planned | {"MAX_JOBS": "3"}


def test_every_comparison_is_kept_and_told(world: Any, lock: Lock) -> None:
    """The report shows each value that was read back."""
    world.executor.replies = [gate()]

    result = configure.run(configure.plan(lock), world.context)

    assert [item.what for item in result.findings] == ["USE_CUDA (build.flags.USE_CUDA)"]
    assert dict(result.evidence)["compared"] == "1"
    assert [event.finding for event in world.events if isinstance(event, Found)] == list(result.findings)


def test_a_second_run_of_cmake_does_not_undo_the_stage(world: Any, lock: Lock) -> None:
    """A front end that configures again before it compiles changes CMake's files; the tree is still the one."""
    world.executor.replies = [gate()]
    plan = configure.plan(lock)
    result = configure.run(plan, world.context)
    world.context.records.remember("configure", plan.key, plan.makes, result)

    gate()(plan.commands[0], world)
    world.write("{source}/build/build.ninja", "# other rules")
    again = world.context.records.reuse("configure", plan.key, plan.makes)
    world.context.trees.remove(world.inside("{source}/build"))

    assert again is not None
    assert world.context.records.reuse("configure", plan.key, plan.makes) is None


def test_a_value_that_is_not_as_asked_ends_the_build(world: Any, lock: Lock) -> None:
    """The refusal names the check, the entry, both values and who asked."""
    world.executor.replies = [gate("failed", seen="ON: ON (BOOL)")]

    with pytest.raises(StageError) as caught:
        configure.run(configure.plan(lock), world.context)

    assert caught.value.reference == "gate-refused"
    assert caught.value.why == ("[gate-flag] USE_CUDA (build.flags.USE_CUDA): wanted OFF, got ON: ON (BOOL)",)
    assert caught.value.exit_code == 8


def test_a_tree_that_does_not_configure_says_why(world: Any, lock: Lock) -> None:
    """CMake's first error comes with the text below it, not the summary at the end."""
    lines = [
        "-- The C compiler identification is GNU",
        "CMake Error at CMakeLists.txt:12 (message):",
        "  third_party/fmt is empty.  Did you run 'git submodule update'?",
        "",
        "  Second paragraph.",
        "",
        "-- Configuring incomplete, errors occurred!",
        "ERROR Backend subprocess exited",
    ]
    world.executor.replies = [(1, lines)]

    with pytest.raises(StageError) as caught:
        configure.run(configure.plan(lock), world.context)

    assert caught.value.reference == "configure-failed"
    assert caught.value.why == (
        "CMake Error at CMakeLists.txt:12 (message):",
        "third_party/fmt is empty.  Did you run 'git submodule update'?",
        "Second paragraph.",
    )
    assert caught.value.link.endswith("logs/configure.log")


def test_a_front_end_that_fails_before_cmake_says_why(world: Any, lock: Lock) -> None:
    """Its own word for error is taken where CMake has none."""
    world.executor.replies = [(1, ["Traceback", "error: invalid command 'bdist_wheel'"])]

    with pytest.raises(StageError) as caught:
        configure.run(configure.plan(lock), world.context)

    assert caught.value.why == ("error: invalid command 'bdist_wheel'",)


def test_missing_requirements_are_told_by_name(world: Any, lock: Lock) -> None:
    """The front end lists them below its error: they are what somebody has to add."""
    lines = [
        "* Getting build dependencies for wheel...",
        "",
        "ERROR Missing dependencies:",
        "\tninja>=1.13",
        "\ttyping-extensions>=4.10 -> other>=2",
        "a last word",
    ]
    world.executor.replies = [(1, lines)]

    with pytest.raises(StageError) as caught:
        configure.run(configure.plan(lock), world.context)

    assert caught.value.why == (
        "ERROR Missing dependencies:",
        "ninja>=1.13",
        "typing-extensions>=4.10 -> other>=2",
    )


def test_a_front_end_that_never_meets_the_gate_is_refused(world: Any, lock: Lock) -> None:
    """A tree that builds elsewhere, or with another tool, was not compared: that is no success."""
    world.executor.replies = [(0, ["Successfully built torchlet.whl"])]

    with pytest.raises(StageError) as caught:
        configure.run(configure.plan(lock), world.context)

    assert caught.value.reference == "gate-bypassed"


@pytest.mark.parametrize("text", ["", "[]", '{"findings": [{"outcome": "passed"}]}', "{", '{"findings": 3}'])
def test_an_answer_that_is_no_answer_proves_nothing(world: Any, lock: Lock, text: str) -> None:
    """A gate file that somebody else wrote does not pass for a comparison."""

    def reply(_command: Any, there: Any) -> tuple[int, list[str]]:
        there.write("{shim}/gate.json", text)
        return 1, []

    world.executor.replies = [reply]

    with pytest.raises(StageError) as caught:
        configure.run(configure.plan(lock), world.context)

    assert caught.value.reference == "configure-failed"


def edited(world: Any) -> Any:
    """The same world, as a workspace that people edit in, with a build tree made of the same flags."""
    context = replace(world.context, is_dev=True)
    plan = configure.plan(world.lock)
    world.write("{source}/build/" + FINGERPRINT, plan.fingerprint.model_dump_json())
    world.write("{source}/build/CMakeCache.txt", "USE_EXTRA:BOOL=ON")
    world.write("{source}/build/a.o", "an object")
    return context


def cached(command: Any, there: Any) -> Any:
    """A front end whose CMake keeps what it once read: refused as long as that is there."""
    is_kept = there.inside("{source}/build/CMakeCache.txt").exists()
    return gate("failed" if is_kept else "passed", seen="ON" if is_kept else "OFF")(command, there)


def test_a_kept_build_tree_that_is_refused_is_asked_anew(world: Any, lock: Lock) -> None:
    """An option that was renamed or removed in the tree is not refused for ever; what is compiled stays."""
    world.lock = lock
    context = edited(world)
    world.executor.replies = [cached, cached]

    result = configure.run(configure.plan(lock), context)

    assert [item.outcome for item in result.findings] == ["passed", "warned"]
    assert result.findings[1].reference == "cache-forgotten"
    assert "USE_CUDA" in result.findings[1].what
    assert result.findings[1] in [event.finding for event in world.events if isinstance(event, Found)]
    assert world.inside("{source}/build/a.o").exists()


def test_a_kept_tree_of_other_flags_is_begun_anew(world: Any, make_lock: Callable[..., Lock]) -> None:
    """Another list of architectures: it is named, and no old object is told of as made for the new one."""
    world.lock = make_lock(environ={"TORCH_CUDA_ARCH_LIST": "8.0"})
    context = edited(world)
    world.executor.replies = [gate("passed")]

    result = configure.run(configure.plan(make_lock(environ={"TORCH_CUDA_ARCH_LIST": "9.0"})), context)

    assert result.findings[-1].reference == "tree-begun-anew"
    assert result.findings[-1].what.endswith("variable TORCH_CUDA_ARCH_LIST: was 8.0, now 9.0")
    assert not world.inside("{source}/build/a.o").exists()


def test_what_is_refused_anew_is_refused(world: Any, lock: Lock) -> None:
    """The tree itself says it: nothing is tried a third time."""
    world.lock = lock
    context = edited(world)
    world.executor.replies = [gate("failed"), gate("failed")]

    with pytest.raises(StageError) as caught:
        configure.run(configure.plan(lock), context)

    assert caught.value.reference == "gate-refused"
    assert len(world.executor.commands) == 2


@pytest.mark.parametrize("is_dev", [False, True], ids=["clean", "edited"])
def test_an_empty_build_tree_is_refused_at_once(world: Any, lock: Lock, is_dev: bool) -> None:
    """There is nothing to forget in it."""
    world.executor.replies = [gate("failed")]

    with pytest.raises(StageError):
        configure.run(configure.plan(lock), replace(world.context, is_dev=is_dev))

    assert len(world.executor.commands) == 1


def test_the_first_error_of_cmake_is_the_cause_however_much_follows(world: Any, lock: Lock) -> None:
    """What CMake says afterwards fills the end of the log; the cause is what it said first."""
    said = ["-- begins", "CMake Error at CMakeLists.txt:3 (message):", "  first cause", ""]
    said += [f"-- line {number}" for number in range(400)] + [
        "CMake Error at x:1 (message):",
        "  consequence",
    ]
    world.executor.replies = [(1, said)]

    with pytest.raises(StageError) as caught:
        configure.run(configure.plan(lock), world.context)

    assert caught.value.why[:2] == ("CMake Error at CMakeLists.txt:3 (message):", "first cause")
