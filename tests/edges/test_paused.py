"""What is paused stands still as a whole, and goes on as if nothing had been."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.edges.paused import PausedContainer, PausedTree

INNERMOST = 'echo ready; read line; echo "$line"'
TREE = ["sh", "-c", 'setsid -w setsid -w sh -c "$1"; exit $?', "sh", INNERMOST]


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[str]]:
    """A process with a child and a grandchild, each in a session of its own; the last one echoes a line."""
    with subprocess.Popen(TREE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def states(pid: int) -> dict[int, str]:
    """Every process of the tree, with the letter that the kernel has for its state."""
    found: dict[int, str] = {}
    todo = [pid]
    while todo:
        number = todo.pop()
        try:
            stat = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
            children = Path(f"/proc/{number}/task/{number}/children").read_text(encoding="utf-8")
        except OSError:
            continue
        found[number] = stat.rpartition(") ")[2][0]
        todo += map(int, children.split())
    return found


def test_every_process_of_a_tree_stands_still(tree: subprocess.Popen[str]) -> None:
    """Also those in sessions of their own, which no signal to the group would reach."""
    paused = PausedTree(tree.pid)

    assert paused.pause()

    deadline = time.monotonic() + 10
    while set(states(tree.pid).values()) != {"T"} and time.monotonic() < deadline:
        os.sched_yield()  # the kernel stops a process when it next leaves the kernel
    assert set(states(tree.pid).values()) == {"T"}
    assert len(states(tree.pid)) >= 2
    paused.resume()


def test_what_is_resumed_goes_on(tree: subprocess.Popen[str]) -> None:
    """To be paused twice and resumed once leaves nothing stopped."""
    paused = PausedTree(tree.pid)
    assert paused.pause()
    assert paused.pause()

    paused.resume()

    assert "T" not in states(tree.pid).values()
    assert tree.communicate("done\n")[0] == "done\n"
    assert tree.returncode == 0


def test_a_tree_that_is_gone_is_not_paused() -> None:
    """And nobody who has its number by now."""
    with subprocess.Popen(["true"]) as process:
        process.wait()

    assert not PausedTree(process.pid).pause()


def test_an_engine_that_does_not_answer_pauses_nothing() -> None:
    """It is no error: the build is told not to wait."""
    container = PausedContainer("/nonexistent/engine", "torchbuild-none")

    assert not container.pause()
    container.resume()


def test_what_is_paused_can_be_ended(tree: subprocess.Popen[str]) -> None:
    """All of it, without that any of it runs once more."""
    paused = PausedTree(tree.pid)
    assert paused.pause()
    pids = [*states(tree.pid)]

    paused.end()

    assert tree.wait(10) == -9
    deadline = time.monotonic() + 10
    while left := [pid for pid in pids if states(pid).get(pid, "Z") not in "ZX"]:
        assert time.monotonic() < deadline, left
        os.sched_yield()  # the kernel ends a process when it next looks at it


def test_a_frozen_container_is_let_go_before_it_is_killed(tmp_path: Path) -> None:
    """An engine kills nothing that is frozen."""
    engine = tmp_path / "podman"
    engine.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n', encoding="utf-8")
    engine.chmod(0o755)
    container = PausedContainer(str(engine), "torchbuild-x")
    assert container.pause()

    container.end()

    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert [line.split()[-2:] for line in asked] == [
        ["pause", "torchbuild-x"],
        ["unpause", "torchbuild-x"],
        ["kill", "torchbuild-x"],
    ]


def unfreezing(folder: Path, name: str, pid: int) -> PausedContainer:
    """A container of an engine that can freeze nothing and tells this number of a process."""
    engine = folder / name
    script = f"echo $2 >>{folder}/asked; case $2 in inspect) echo {pid} ;; kill) ;; *) exit 125 ;; esac"
    engine.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    engine.chmod(0o755)
    return PausedContainer(str(engine), "torchbuild-x")


@pytest.fixture
def monitored() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A podman monitor as the process table shows it, and the number of the container's first process."""
    script = f"sh -c 'exec 0<&3; {INNERMOST}' & echo $!; wait"
    argv = ["sh", "-c", f"exec 3<&0; {script}", "conmon", "-n", "torchbuild-x"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        words = sorted([process.stdout.readline().strip(), process.stdout.readline().strip()])
        assert words[1] == "ready"
        yield process, int(words[0])
        process.kill()


def test_a_container_that_cannot_be_frozen_is_stopped_by_its_processes(
    tmp_path: Path, monitored: tuple[subprocess.Popen[str], int]
) -> None:
    """Podman of an ordinary user has no freezer on cgroup v1; the processes are that user's own."""
    monitor, pid = monitored
    container = unfreezing(tmp_path, "podman", pid)

    assert container.pause()
    assert container.pause()
    deadline = time.monotonic() + 10
    while set(states(pid).values()) != {"T"} and time.monotonic() < deadline:
        os.sched_yield()
    assert set(states(pid).values()) == {"T"}

    container.resume()

    assert monitor.communicate("done\n")[0] == "done\n"


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_a_number_of_another_machine_stops_nobody_here(
    tmp_path: Path, tree: subprocess.Popen[str], name: str
) -> None:
    """A remote engine, or one in a virtual machine, tells numbers of its own kernel."""
    container = unfreezing(tmp_path, name, tree.pid)

    assert not container.pause()
    assert "T" not in states(tree.pid).values()


def test_a_container_that_has_not_begun_is_not_paused(tmp_path: Path) -> None:
    """An engine knows it, and no process of it: nothing is stopped, least of all process 0."""
    assert not unfreezing(tmp_path, "podman", 0).pause()


def test_what_may_have_been_frozen_late_is_let_go(tmp_path: Path) -> None:
    """An engine that gave up waiting may freeze the container afterwards: it is told to let it go all the same."""
    container = unfreezing(tmp_path, "podman", 0)
    container.pause()
    container.end()

    assert (tmp_path / "asked").read_text().split() == ["pause", "inspect", "unpause", "kill"]
