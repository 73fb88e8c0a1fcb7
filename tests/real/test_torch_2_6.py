"""The real PyTorch 2.6 tree in the builder image: gate, first objects, resume.

What one build shows is asked by several tests, in their order: `pytest -n 2 --dist loadfile` gives this file to
one worker.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from torchbuild.inspection.elf import read_elf

pytestmark = [pytest.mark.container, pytest.mark.real, pytest.mark.timeout(2400)]

CHECKS = {"gate-flag", "gate-python", "gate-numpy", "gate-blas", "gate-compiler", "gate-generator"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, torchbuild: Any) -> Any:
    """The recipe as it is shipped, with an empty compiler cache."""
    return torchbuild(tmp_path_factory.mktemp("torch") / "base")


@pytest.fixture(scope="module")
def configured(base: Any) -> Any:
    """Fetched, patched, configured, compared."""
    return base.build("--until", "configure")


def test_the_real_tree_passes_the_gate_before_anything_is_compiled(base: Any, configured: Any) -> None:
    """Fetch, patch, configure and gate end well, every value is what was asked for, and no object is there."""
    findings = base.gate()

    assert configured.outcomes == dict.fromkeys(("fetch", "toolchain", "source", "configure"), "done")
    assert {item["outcome"] for item in findings} == {"passed"}
    assert {item["reference"] for item in findings} >= CHECKS
    assert len(findings) > 30
    assert base.built() == []
    assert list(base.build_tree.rglob("*.o")) == []


def test_what_is_done_is_not_done_again(base: Any, configured: Any) -> None:
    """The same command once more takes every stage as it is."""
    assert set(base.build("--until", "configure").outcomes.values()) == {"reused"}


@dataclass(frozen=True)
class Killed:
    """A compile that was killed half-way."""

    argv: list[str]
    """The front end, as the machine ran it."""
    environ: dict[str, str]
    """All that it saw."""
    cwd: str
    """Where it ran."""
    objects: dict[Path, tuple[int, int]]
    """Object files that were done by then: inode and time."""


@pytest.fixture(scope="module")
def killed(base: Any, configured: Any) -> Killed:
    """The command, ended by SIGKILL as soon as a few objects were there."""
    process = subprocess.Popen(
        base.argv("build", "--target", "c10"),
        cwd=base.top,
        env=base.environ(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        for line in process.stderr:
            edges = re.search(r"(\d+)/(\d+) edges", line)
            if edges is not None and int(edges[2]) > 80 and int(edges[1]) >= 8:
                break
        front_end = next(item for item in base.processes() if item.cmdline()[1:3] == ["-m", "build"])
        ran = {"argv": front_end.cmdline(), "environ": front_end.environ(), "cwd": front_end.cwd()}
        process.kill()
    assert process.returncode == -signal.SIGKILL
    return Killed(**ran, objects=times([base.build_tree / name for name in base.objects()]))


def times(paths: list[Path]) -> dict[Path, tuple[int, int]]:
    """What tells a file from one that was made again."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths}


@pytest.fixture(scope="module")
def compiled(base: Any, killed: Killed) -> Any:
    """The same command again, to its end."""
    return base.build("--target", "c10")


def test_plan_prints_exactly_what_runs(base: Any, killed: Killed) -> None:
    """Each command is printed with its whole environment, and the front end's is what the machine then ran."""
    plans = base.call("plan").out["stages"]
    commands = [command for item in plans for command in item["commands"]]
    text = base.run("plan").stdout
    (front_end,) = next(item for item in plans if item["stage"] == "configure")["commands"]

    assert text.count("env -i") == len(commands)
    assert all(f"  {name}=" in text for command in commands for name, _ in command["environ"])
    assert "\n  " + " ".join(front_end["argv"]) in text
    assert {command["network"] for command in commands} == {"none"}
    assert (killed.argv, killed.cwd) == (front_end["argv"], front_end["cwd"])
    assert killed.environ == dict(front_end["environ"]) | {"MAX_JOBS": killed.environ["MAX_JOBS"]}


def test_a_killed_compile_goes_on_where_it_was(base: Any, killed: Killed, compiled: Any) -> None:
    """After SIGKILL the same command configures nothing anew and compiles no finished object again."""
    assert (compiled.outcomes["source"], compiled.outcomes["configure"]) == ("reused", "reused")
    assert len(killed.objects) >= 4
    assert times(list(killed.objects)) == killed.objects
    assert base.compiler_calls() <= len(base.objects()) - len(killed.objects)


def test_a_killed_compile_leaves_nothing_running(base: Any, compiled: Any, engine: str) -> None:
    """No process and no container of the killed run, or of the one after it, is left."""
    assert base.processes() == []
    assert containers_on(engine, base.builds) == []


def containers_on(engine: str, folder: Path) -> list[str]:
    """Containers, running or not, that mount something below a folder."""
    listed = subprocess.run([engine, "ps", "--all", "--quiet"], capture_output=True, text=True, check=True)
    found = []
    for name in listed.stdout.split():
        # One of another test may be gone by now.
        shown = subprocess.run([engine, "inspect", name], capture_output=True, text=True, check=False)
        found += [name] if any(f'"{folder}/' in line for line in shown.stdout.splitlines()) else []
    return found


def test_c10_is_compiled_and_the_build_stops_there(base: Any, compiled: Any) -> None:
    """`--target c10` makes c10 and nothing else, and says that it stopped as asked."""
    run = json.loads((base.workspace / "report.json").read_text())
    evidence = base.report("compile")["evidence"]

    assert compiled.outcomes["compile"] == run["outcome"] == "stopped"
    assert (base.build_tree / "lib/libc10.so").is_file()
    assert not (base.build_tree / "lib/libtorch_cpu.so").exists()
    assert len(base.objects()) > 80
    assert set(run["not_run"]) == {"package", "verify", "publish"}
    assert base.compiler_calls("cache_miss") > 0
    assert int(evidence["peak_memory_bytes"]) > 50e6


def test_a_library_looks_for_its_neighbours_beside_itself(base: Any, compiled: Any) -> None:
    """What is installed knows no path of the build: its run path is where it lies, wherever that is."""
    base.build("--target", "c10/install")

    library = base.workspace / "root/source/torch/lib/libc10.so"
    seen = read_elf(library, name=library.name, sha256="0" * 64, size=library.stat().st_size)
    assert (seen.soname, seen.runpath, seen.rpath) == ("libc10.so", ("$ORIGIN",), ())


def test_a_compile_throws_no_earlier_stage_away(base: Any, compiled: Any) -> None:
    """What a build writes into the tree does not make the tree or its configuration another one."""
    assert set(base.build("--until", "configure").outcomes.values()) == {"reused"}
    assert len(base.objects()) > 80


def test_another_workspace_compiles_from_the_cache_alone(base: Any, compiled: Any) -> None:
    """The same recipe elsewhere: every compiler call is answered by the compiler cache."""
    other = base.elsewhere()

    other.build("--target", "c10")

    assert len(other.objects()) == len(base.objects())
    assert other.compiler_calls("direct_cache_hit") == other.compiler_calls() == len(other.objects())
