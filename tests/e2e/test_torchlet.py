"""torchlet from git to a verified wheel, in both eras; what is refused on the way; what a kill costs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.workspace import open_workspace

pytestmark = pytest.mark.timeout(1800)  # a hang ends, a busy machine does not

ERAS = ["setup-py", "scikit-build-core"]
BEFORE_COMPILE = ("fetch", "toolchain", "source", "configure")
USE = """
import sys
sys.path.insert(0, sys.argv[1])
import torchlet
print(torchlet.__version__, torchlet.matmul([[1.0, 2.0]], [[3.0], [4.0]]))
print(torchlet.__config__.show())
"""


def report_of(ended: Any) -> dict[str, Any]:
    """What the run left for its reader."""
    report: dict[str, Any] = json.loads(Path(ended.json["report"]).read_text(encoding="utf-8"))
    return report


def findings_of(report: dict[str, Any], stage: str) -> list[dict[str, str]]:
    """What the checks of a stage saw."""
    return [item for one in report["stages"] if one["stage"] == stage for item in one["findings"]]


def used(wheel: Path, folder: Path) -> str:
    """What the wheel prints where nothing of the build is."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return subprocess.run(
        [sys.executable, "-I", "-c", USE, str(folder)], check=True, capture_output=True, text=True, cwd="/"
    ).stdout


def nothing_compiled(root: Path) -> bool:
    """Whether ninja never had an edge to note."""
    log = root / "source" / "build" / ".ninja_log"
    return not log.exists() or len(log.read_text(encoding="utf-8").splitlines()) <= 1


@pytest.mark.parametrize("era", ERAS)
def test_each_era_becomes_a_wheel_that_works(bench: Any, arguments: Any, era: str, tmp_path: Path) -> None:
    """One command for both front ends: the wheel is compared, installed, used, and laid down with its papers."""
    ended = bench.good("build", *arguments(era), "--locked", "--out", "dist", "--json")

    wheel, report = Path(ended.json["wheel"]), report_of(ended)
    version = "1.0.0" if era == "setup-py" else "2.0.0"
    assert wheel.name.startswith(f"torchlet-{version}+demo-cp3")
    beside = sorted(path.name.removeprefix(wheel.stem) for path in wheel.parent.iterdir())
    assert beside == [".lock", ".provenance.json", ".report.json", ".whl", ".whl.sha256"]
    assert f"{version}+demo [[11.0]]" in used(wheel, tmp_path / "unpacked")
    compared = {item["what"].partition(" ")[0] for item in findings_of(report, "configure")}
    assert compared >= {
        "USE_CUDA",
        "USE_NUMPY",
        "USE_OPENMP",
        "BLAS",
        "CMAKE_MAKE_PROGRAM",
        "CMAKE_CXX_COMPILER",
    }
    shown = {item["reference"]: item["outcome"] for item in findings_of(report, "verify")}
    assert shown["smoke-matmul"] == shown["smoke-import-identity"] == shown["config-setting"] == "passed"
    assert shown["smoke-svd"] == "not run"
    assert (report["outcome"], report["not_run"], report["error"]) == ("done", [], None)


@pytest.mark.parametrize("era", ERAS)
def test_a_second_run_does_nothing_again(bench: Any, arguments: Any, era: str) -> None:
    """Every stage is reused; only what lies elsewhere is looked at."""
    bench.good("build", *arguments(era), "--out", "dist", "--json")

    ended = bench.good("build", *arguments(era), "--out", "dist", "--json", "--paranoid")

    assert ended.outcomes == {
        **dict.fromkeys((*BEFORE_COMPILE, "compile", "package", "verify"), "reused"),
        "publish": "done",
    }


def test_a_wheel_that_was_removed_is_published_again(bench: Any, arguments: Any, tmp_path: Path) -> None:
    """Or to another folder: a workspace does not take its word for what lies elsewhere."""
    bench.good("build", *arguments("setup-py"), "--out", "dist", "--json")

    ended = bench.good("build", *arguments("setup-py"), "--out", "other", "--json")

    assert Path(ended.json["wheel"]).parent == tmp_path / "other"
    assert Path(ended.json["wheel"]).is_file()


def test_every_event_is_kept_in_order(bench: Any, arguments: Any) -> None:
    """A program can follow a run: each stage begins and ends, each line is one object."""
    ended = bench.good("build", *arguments("setup-py"), "--out", "dist", "--json")

    text = (Path(ended.json["report"]).parent / "events.jsonl").read_text(encoding="utf-8")
    events = [json.loads(line) for line in text.splitlines()]
    first = events[: next(n for n, event in enumerate(events) if event["kind"] == "run-finished") + 1]
    assert first[0]["kind"] == "run-started"
    stages = first[0]["stages"]
    for kind in ("stage-started", "stage-finished"):
        assert [event["stage"] for event in first if event["kind"] == kind] == stages
    edges = [event for event in first if event["kind"] == "progress" and event["unit"] == "edges"]
    done = [event["done"] for event in edges]
    assert done == sorted(done)
    assert done[0] == 1
    assert done[-1] >= edges[-1]["total"] - 1  # the last one prints while it runs


def test_the_same_lock_gives_the_same_bytes_anywhere(bench: Any, fresh: Any, arguments: Any) -> None:
    """Built from scratch at another path of the machine, with another number of jobs: one digest."""
    lock = arguments("setup-py")
    first = bench.good("build", *lock, "--out", "dist", "--json")

    second = fresh.good("build", *lock, "--out", "again", "--json", "--set", "machine.jobs=1")

    assert first.json["sha256"] == second.json["sha256"]
    assert set(second.outcomes.values()) == {"done"}


TAKES_MPI = "s/^cmake_dependent_option(USE_MPI .*/set(USE_MPI ON CACHE BOOL MPI FORCE)/"
"""A tree that takes an MPI whatever it is told."""

TAKES_PYTHON = 's#"Python_EXECUTABLE": sys.executable#"Python_EXECUTABLE": "/torchbuild/other/bin/python"#'
"""A tree that configures with another interpreter than the one that builds it."""

OTHER_PYTHON = ["python", "-m", "venv", "--system-site-packages", "--without-pip", "/torchbuild/other"]

REFUSALS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "lost-mpi": (
        "setup-py",
        (
            "build.flags.USE_DISTRIBUTED=true",
            "build.flags.USE_MPI=true",
            'build.cmake.CMAKE_DISABLE_FIND_PACKAGE_MPI="TRUE"',
        ),
        "[gate-flag] USE_MPI (build.flags.USE_MPI): wanted ON, got OFF",
    ),
    "no-numpy": (
        "setup-py",
        ('source.prepare=[{argv=["find","/torchbuild/venv/lib","-path","*/numpy/*","-delete"]}]',),
        "[gate-flag] USE_NUMPY (build.preset minimal): wanted ON, got OFF",
    ),
    "mpi-unasked": (
        "setup-py",
        (f"source.prepare=[{{argv=['sed','-i','{TAKES_MPI}','CMakeLists.txt']}}]",),
        "[gate-flag] USE_MPI (build.preset minimal): wanted OFF, got ON",
    ),
    "another-python": (
        "setup-py",
        (f"source.prepare=[{{argv={OTHER_PYTHON}}},{{argv=['sed','-i','{TAKES_PYTHON}','setup.py']}}]",),
        "[gate-python] _?(Python|Python3|PYTHON)_EXECUTABLE (python): wanted /torchbuild/venv/bin/python, got ",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_is_not_as_asked_is_refused_before_an_object_is_compiled(
    fresh: Any, arguments: Any, case: str
) -> None:
    """A feature that got lost, one that nobody asked for, another interpreter: seconds, not hours."""
    era, settings, why = REFUSALS[case]

    ended = fresh.run("build", *arguments(era, *settings, name=case), "--json")

    assert ended.code == 8
    assert ended.error["reference"] == "gate-refused"
    assert any(line.startswith(why) for line in ended.error["why"]), ended.error["why"]
    (root,) = fresh.builds.glob(f"{case}-*/root")
    assert nothing_compiled(root)
    report = json.loads((root.parent / "report.json").read_text(encoding="utf-8"))
    assert (report["outcome"], report["error"]["reference"]) == ("failed", "gate-refused")
    assert any(item["outcome"] == "failed" for item in findings_of(report, "configure"))
    assert report["not_run"] == ["compile", "package", "verify", "publish"]


def wait_for_compile(events: Path, process: subprocess.Popen[str]) -> None:
    """Until ninja has said something."""
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        if events.exists() and '"edges"' in events.read_text(encoding="utf-8"):
            return
        os.sched_yield()
    pytest.fail(f"compile was not reached: {process.communicate()}")


def await_end(pid: int) -> None:
    """Wait for a process that is not our child; ten seconds at most."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll(10_000)
    os.close(descriptor)


def test_a_kill_costs_what_was_being_done_and_no_more(
    fresh: Any, arguments: Any, alive: Callable[[str], list[int]]
) -> None:
    """One target first, then a kill in the middle of the rest; nothing lives on, and the same command goes on."""
    mark = f"mark-{os.getpid()}"
    lock = arguments(
        "scikit-build-core", f'build.env.MARK="{mark}"', "machine.jobs=1", name=f"killed-{os.getpid()}"
    )
    stopped = fresh.good("build", *lock, "--target", "nanofmt", "--json")
    assert stopped.outcomes == dict.fromkeys(BEFORE_COMPILE, "done") | {"compile": "stopped"}
    assert not nothing_compiled(fresh.root(stopped.json["run"]))

    events = fresh.builds / stopped.json["run"] / "events.jsonl"
    events.unlink()
    with fresh.start("build", *lock) as process:
        wait_for_compile(events, process)
        assert alive(mark)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    for pid in alive(mark):  # their leader is gone, and the kernel is about to end them
        await_end(pid)
    assert alive(mark) == []

    ended = fresh.good("build", *lock, "--out", "dist", "--json")

    assert ended.outcomes == {
        **dict.fromkeys(BEFORE_COMPILE, "reused"),
        **dict.fromkeys(("compile", "package", "verify", "publish"), "done"),
    }


def test_a_cancelled_job_leaves_a_report(fresh: Any, arguments: Any) -> None:
    """SIGTERM, as a CI system sends it: the run says that it was stopped, and what was done stays done."""
    lock = arguments("setup-py")
    with fresh.start("build", *lock, "--json", "--until", "toolchain") as process:
        for _ in process.stderr:
            break  # it runs
        while not list(fresh.builds.glob("*/logs/toolchain.log")) and process.poll() is None:
            os.sched_yield()
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert json.loads(out)["error"]["reference"] == "interrupted"
    (path,) = fresh.builds.glob("*/report.json")
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["outcome"] == "stopped"
    assert [(item["stage"], item["outcome"]) for item in report["stages"]] == [
        ("fetch", "done"),
        ("toolchain", "stopped"),
    ]


def test_two_builds_in_one_workspace_are_refused_at_once(fresh: Any, arguments: Any) -> None:
    """The second names the first, and touches nothing."""
    lock = arguments("setup-py")
    run = fresh.good("build", *lock, "--until", "fetch", "--json").json["run"]

    with open_workspace(fresh.builds, run, store=fresh.cache / "store", cache=fresh.cache / "compiler"):
        ended = fresh.run("build", *lock, "--json")

    assert (ended.code, ended.error["reference"]) == (6, "workspace-busy")
    assert f"process {os.getpid()}" in ended.error["why"][0]


def test_what_was_made_and_is_gone_is_made_again_alone(bench: Any, arguments: Any) -> None:
    """The stage that made it runs, and what builds on it; the hour before does not."""
    lock = arguments("setup-py")
    run = bench.good("build", *lock, "--out", "dist", "--json").json["run"]
    (bench.root(run) / "verify" / "verify.json").unlink()

    ended = bench.good("build", *lock, "--out", "dist", "--json")

    done = {stage for stage, outcome in ended.outcomes.items() if outcome == "done"}
    assert done == {"verify", "publish"}


def test_a_stage_can_be_run_alone(bench: Any, arguments: Any) -> None:
    """From and until the same one; what is before it must be there."""
    lock = arguments("setup-py")
    bench.good("build", *lock, "--out", "dist", "--json")

    ended = bench.good("build", *lock, "--from", "package", "--until", "package", "--json")

    assert ended.outcomes == {"package": "done"}
    assert ended.json["wheel"] is None


def test_a_shell_is_where_the_build_was(bench: Any, arguments: Any) -> None:
    """Its environment, its path, no network, and the exit code of what was run there."""
    run = bench.good("build", *arguments("setup-py"), "--out", "dist", "--json").json["run"]

    seen = bench.good("shell", run, "--", "env").out.splitlines()
    code = bench.run("shell", run, "sh", "-c", "pwd; cat /proc/net/dev; exit 7")

    assert {"USE_CUDA=OFF", "HOME=/torchbuild/home", "PYTHONHASHSEED=0"} <= set(seen)
    assert code.code == 7
    assert code.out.splitlines()[0] == "/torchbuild/source"
    assert [line.split(":")[0].strip() for line in code.out.splitlines()[3:]] == ["lo"]


def test_a_plan_is_what_runs(bench: Any, arguments: Any) -> None:
    """Every command of the plan, word for word, is in what the build started; keys are the report's."""
    lock = arguments("setup-py")
    report = report_of(bench.good("build", *lock, "--out", "dist", "--json"))

    plan = bench.good("plan", *lock, "--json").json

    assert {item["stage"]: item["key"] for item in plan["stages"]} == {
        item["stage"]: item["key"] for item in report["stages"]
    }
    (configure,) = [item for item in plan["stages"] if item["stage"] == "configure"]
    assert configure["commands"][0]["argv"][:3] == ["/torchbuild/venv/bin/python", "-m", "build"]


@pytest.mark.container
@pytest.mark.parametrize("era", ERAS)
def test_each_era_becomes_a_wheel_in_a_container_without_a_network(
    engine_image: str, fresh: Any, arguments: Any, era: str
) -> None:
    """The same recipe, in the builder image, for its own interpreter; a second run reuses all of it."""
    more = () if era == "setup-py" else ('source.ref="v2.0.0"', 'wheel.version="2.0.0"')
    lock = arguments("recipe-container.toml", f'image.name="{engine_image}"', *more, name=f"container-{era}")

    ended = fresh.good("build", *lock, "--locked", "--out", "dist", "--json")
    again = fresh.good("build", *lock, "--locked", "--out", "dist", "--json")

    assert "-cp313-cp313-linux_x86_64.whl" in ended.json["wheel"]
    report = report_of(ended)
    assert {item["outcome"] for item in findings_of(report, "configure")} == {"passed"}
    assert any(item["reference"] == "smoke-matmul" for item in findings_of(report, "verify"))
    assert Path(ended.json["wheel"]).stat().st_uid == os.geteuid()
    assert [stage for stage, outcome in again.outcomes.items() if outcome != "reused"] == ["publish"]
