"""The stage that makes the build environment and looks at what it became."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchbuild.errors import LockError, StageError
from torchbuild.model.lock import Expectation, Lock
from torchbuild.report.events import Found
from torchbuild.stages import toolchain

SEEN = {
    "base_executable": "/usr/bin/python3.13",
    "cc": "gcc 14",
    "cmake": "cmake version 3.31.0",
    "compiles": "",
    "cxx": "g++ (Debian 14.2.0) 14.2.0",
    "distributions": {"pip": "26.0", "ninja": "1.13.0"},
    "executable": "/torchbuild/venv/bin/python",
    "files": [],
    "include": "/usr/include/python3.13",
    "ninja": "1.13.0",
    "python_h": True,
    "soabi": "cpython-313-x86_64-linux-gnu",
    "version": "3.13.5",
}


LOOKED = {
    "bits": 64,
    "executable": "/usr/bin/python3.13",
    "extension": "",
    "free_threaded": "no",
    "gone": {},
    "headers": True,
    "include": "/usr/include/python3.13",
    "kind": "program",
    "libdir": "/usr/lib/x86_64-linux-gnu",
    "libdir_found": True,
    "machine": "x86_64",
    "shared": False,
    "soabi": "cpython-313-x86_64-linux-gnu",
    "tools_missing": {},
    "version": "3.13.5",
}
"""What is seen of the interpreter behind the environment."""


@pytest.fixture
def lock(make_lock: Callable[..., Lock]) -> Lock:
    """A lock that knows both compilers."""
    return make_lock(compiler_c="gcc 14")


def installed(command: Any, world: Any) -> tuple[int, list[str]]:
    """Pip lays the wheel's ninja down."""
    world.write("{venv}/bin/ninja", "the real one").chmod(0o755)
    return 0, ["Successfully installed"]


def probed(**changed: object) -> tuple[int, list[str]]:
    """The probe's report, with other values where a case says so."""
    return 0, json.dumps(SEEN | changed, indent=1).splitlines()


def replies(*last: Any) -> list[Any]:
    """A venv, an installation, what follows, and a look at the interpreter."""
    return [(0, []), installed, *last, (0, [json.dumps(LOOKED)])]


def test_the_plan_comes_from_the_lock_alone(lock: Lock, nothing_moves: Callable[[], Any]) -> None:
    """Planning opens nothing; the commands name the locked interpreter and install by hash."""
    with nothing_moves():
        plan = toolchain.plan(lock)

    make, install, probe, look = plan.commands
    assert make.argv[:4] == ("/usr/bin/python3.13", "-I", "-m", "venv")
    assert {"--no-index", "--require-hashes", "--no-deps"} <= set(install.argv)
    assert probe.argv[:2] == ("{venv}/bin/python", "-I")
    assert look.argv[:2] == ("/usr/bin/python3.13", "-I")
    assert plan.requirements.splitlines()[0].startswith("file:///torchbuild/inputs/build/ninja-1.13.0-")
    assert f"--hash=sha256:{lock.build_requires[0].sha256}" in plan.requirements


def test_no_command_has_a_network_or_a_variable_of_the_caller(lock: Lock) -> None:
    """The environment is complete in the plan, and the index cannot be asked."""
    for command in toolchain.plan(lock).commands:
        assert command.network == "none"
        assert dict(command.environ)["SOURCE_DATE_EPOCH"] == "1706745600"
        assert dict(command.environ)["PATH"] == "{venv}/bin:/usr/local/bin:/usr/bin:/bin"


def test_the_shim_takes_the_place_of_ninja(world: Any, lock: Lock) -> None:
    """What CMake finds as ninja is ours; the real one lies beside the orders; no old order is left."""
    world.write("{shim}/order.json", '{"mode": "gate"}')
    world.executor.replies = replies(probed())

    toolchain.run(toolchain.plan(lock), world.context)

    ours = world.inside("{venv}/bin/ninja")
    assert ours.read_text(encoding="utf-8").startswith("#!/torchbuild/venv/bin/python -IS\n")
    assert ours.stat().st_mode & 0o777 == 0o755
    assert world.inside("{shim}/ninja-real").read_text(encoding="utf-8") == "the real one"
    assert world.inside("{shim}/torchbuild_shim/ninja.py").is_file()
    assert not world.inside("{shim}/order.json").exists()


def test_what_is_there_is_read_back(world: Any, lock: Lock) -> None:
    """Every property of the environment is a finding, and versions are kept as evidence."""
    world.executor.replies = replies(probed())

    result = toolchain.run(toolchain.plan(lock), world.context)

    assert result.summary == "Python 3.13.5, g++ (Debian 14.2.0) 14.2.0, cmake version 3.31.0"
    missed = {item.reference for item in result.findings if item.outcome != "passed"}
    # the lock names no directory of headers, and of another package than torch nothing is known
    assert missed == {"python-headers", "python-for-torch"}
    assert dict(result.evidence)["ninja"] == "1.13.0"
    assert [event.finding for event in world.events if isinstance(event, Found)] == list(result.findings)


@pytest.mark.parametrize(
    ("changed", "reference"),
    [
        ({"version": "3.13.4"}, "toolchain-python"),
        ({"soabi": "cpython-313t-x86_64-linux-gnu"}, "toolchain-python-abi"),
        ({"base_executable": "/opt/python"}, "toolchain-python-path"),
        ({"python_h": False}, "toolchain-python-headers"),
        ({"distributions": {"pip": "26.0"}}, "toolchain-packages"),
        ({"distributions": {"pip": "25.0", "ninja": "1.13.0"}}, "toolchain-packages"),
        ({"distributions": {"pip": "26.0", "ninja": "1.13.0", "torch": "2.0"}}, "toolchain-foreign-packages"),
        ({"cxx": "g++ 13"}, "toolchain-compiler"),
        ({"cc": "gcc 13"}, "toolchain-compiler"),
        ({"cc": ""}, "toolchain-compiler"),
        ({"compiles": "g++: exit code 1: no iostream"}, "toolchain-compiles"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_environment_than_the_locked_one_is_refused(
    world: Any, lock: Lock, changed: dict[str, object], reference: str
) -> None:
    """Asked is not got: each difference ends the build here, with both values."""
    world.executor.replies = replies(probed(**changed))

    with pytest.raises(StageError) as caught:
        toolchain.run(toolchain.plan(lock), world.context)

    assert caught.value.reference == "toolchain-not-as-locked"
    assert caught.value.what.endswith(f": {reference}")
    assert len(caught.value.why) == 1


def test_compilers_that_start_unasked_are_told(world: Any, lock: Lock) -> None:
    """A launcher that cannot be compiled is no reason to stop, and no secret."""
    world.executor.replies = replies(probed(launcher="exit code 1: ld: cannot find -lc"))

    result = toolchain.run(toolchain.plan(lock), world.context)

    (told,) = (item for item in result.findings if item.reference == "toolchain-launcher")
    assert (told.outcome, told.seen) == ("warned", "exit code 1: ld: cannot find -lc")


def test_a_lock_that_does_not_know_the_c_compiler_says_so(world: Any, make_lock: Callable[..., Lock]) -> None:
    """An older lock still builds; what was not compared is not called passed."""
    world.executor.replies = replies(probed())

    result = toolchain.run(toolchain.plan(make_lock()), world.context)

    (unknown, *_) = [item for item in result.findings if item.outcome != "passed"]
    assert (unknown.reference, unknown.outcome, unknown.seen) == ("toolchain-compiler", "not run", "gcc 14")


@pytest.fixture
def compilers(tmp_path: Path) -> list[str]:
    """Two compilers of this machine."""
    for name in ("gcc", "g++"):
        (tmp_path / name).write_text("release 14", encoding="utf-8")
    return [str(tmp_path / name) for name in ("gcc", "g++")]


def test_a_compiler_that_was_exchanged_makes_the_stage_run_again(
    world: Any, lock: Lock, compilers: list[str]
) -> None:
    """Without an image, the machine's own files decide: with the same key, another compiler is another one."""
    world.executor.replies = replies(probed(files=compilers))
    plan = toolchain.plan(lock)
    world.context.records.remember("toolchain", plan.key, plan.makes, toolchain.run(plan, world.context))
    kept = world.context.records.reuse("toolchain", plan.key, plan.makes)

    Path(compilers[0]).write_text("release 15", encoding="utf-8")

    assert kept is not None
    assert world.context.records.reuse("toolchain", plan.key, plan.makes) is None


def test_what_it_rests_on_is_told_to_the_build(world: Any, lock: Lock, compilers: list[str]) -> None:
    """Our ninja looks at the very bytes before it goes on in a tree; in an image too."""
    world.executor.replies = replies(probed(files=compilers))

    result = toolchain.run(toolchain.plan(lock), world.context)

    assert json.loads(world.inside("{shim}/tools.json").read_text(encoding="utf-8")) == compilers
    assert list(result.rests_on) == compilers


def test_in_an_image_the_machines_own_compilers_do_not_count(
    world: Any, make_lock: Callable[..., Lock], compilers: list[str]
) -> None:
    """The image's id pins them, and files of the same name on this machine are others."""
    world.executor.replies = replies(probed(files=compilers))
    plan = toolchain.plan(make_lock(image={"name": "builder", "id": "c" * 64}))

    assert toolchain.run(plan, world.context).rests_on == ()


def test_the_probes_report_is_found_behind_the_command_that_the_log_begins_with(
    world: Any, lock: Lock
) -> None:
    """A log is for people too."""
    code, lines = probed()
    world.executor.replies = replies(
        (code, ["cd /torchbuild", "env -i \\", "  A='{' \\", "  python", "", *lines])
    )

    assert toolchain.run(toolchain.plan(lock), world.context).summary.startswith("Python 3.13.5")


@pytest.mark.parametrize("failing", [0, 1], ids=["venv", "install"])
def test_an_environment_that_cannot_be_made_says_why(world: Any, lock: Lock, failing: int) -> None:
    """The tool's own words come with the error, and its whole log is named."""
    world.executor.replies = [*[(0, [])] * failing, (1, ["No module named venv"])]

    with pytest.raises(StageError) as caught:
        toolchain.run(toolchain.plan(lock), world.context)

    assert caught.value.reference == "toolchain-failed"
    assert caught.value.evidence == ("No module named venv",)
    assert caught.value.link.endswith("logs/toolchain.log")
    assert len(world.executor.commands) == failing + 1


def test_a_probe_that_says_nothing_useful_is_refused(world: Any, lock: Lock) -> None:
    """An interpreter that crashes is named as such."""
    world.executor.replies = replies((139, ["Segmentation fault"]))

    with pytest.raises(StageError) as caught:
        toolchain.run(toolchain.plan(lock), world.context)

    assert caught.value.reference == "toolchain-probe-failed"
    assert caught.value.why == ("exit code 139; wanted a report of itself",)


def test_a_lock_without_ninja_cannot_build(world: Any, lock: Lock) -> None:
    """The gate sits in ninja: without one there is none."""
    world.executor.replies = [(0, []), (0, [])]

    with pytest.raises(LockError) as caught:
        toolchain.run(toolchain.plan(lock), world.context)

    assert caught.value.reference == "lock-lacks-ninja"


def test_a_build_requirement_that_is_no_wheel_is_refused(
    make_lock: Callable[..., Lock], artifact: Callable[..., Any]
) -> None:
    """A source package would be built from what nobody locked."""
    lock = make_lock(build_requires=(artifact("pip-26.0-py3-none-any.whl"), artifact("evil-1.0.tar.gz")))

    with pytest.raises(LockError) as caught:
        toolchain.plan(lock)

    assert caught.value.reference == "lock-requirement-not-a-wheel"


@pytest.mark.parametrize(
    ("said", "despite", "outcomes"),
    [
        ("ccache version 4.11.2", (), ["passed"]),
        ("sccache 0.16.0", (), None),
        ("sccache 0.16.0", ("compiler-cache-pair",), ["passed", "warned"]),
        ("", (), None),
    ],
)
def test_the_compiler_cache_is_weighed_before_anything_is_compiled(
    world: Any,
    make_lock: Callable[..., Lock],
    said: str,
    despite: tuple[str, ...],
    outcomes: list[str] | None,
) -> None:
    """One that is gone, or is known to keep wrong objects of this tree, ends the build here."""
    wanted = Expectation(
        reference="gate-flag", key="USE_PRECOMPILED_HEADERS", kind="switch", value="ON", why="me"
    )
    name = "ccache" if said.startswith("ccache") else "sccache"
    lock = make_lock(compiler_c="gcc 14", compiler_cache=f"/usr/bin/{name}", expect=(wanted,))
    world.executor.replies = replies(probed(cache=said))
    context = dataclasses.replace(world.context, despite=despite)
    plan = toolchain.plan(lock)
    assert plan.commands[2].argv[-1] == f"/usr/bin/{name}"

    if outcomes is None:
        with pytest.raises(StageError) as caught:
            toolchain.run(plan, context)
        assert "toolchain-cache" in str(caught.value.why) or "2562" in str(caught.value.why)
        return
    found = [item for item in toolchain.run(plan, context).findings if "cache" in item.reference]
    assert [item.outcome for item in found] == outcomes
