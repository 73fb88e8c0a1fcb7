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


def test_a_container_that_cannot_be_frozen_is_stopped_by_its_processes(
    tmp_path: Path, tree: subprocess.Popen[str]
) -> None:
    """Podman of an ordinary user has no freezer on cgroup v1; the processes are that user's own."""
    engine = tmp_path / "podman"
    engine.write_text(
        f"#!/bin/sh\ncase $2 in pause) exit 125 ;; inspect) echo {tree.pid} ;; esac\n", encoding="utf-8"
    )
    engine.chmod(0o755)
    container = PausedContainer(str(engine), "torchbuild-x")

    assert container.pause()
    assert container.pause()
    deadline = time.monotonic() + 10
    while set(states(tree.pid).values()) != {"T"} and time.monotonic() < deadline:
        os.sched_yield()
    assert set(states(tree.pid).values()) == {"T"}

    container.resume()

    assert tree.communicate("done\n")[0] == "done\n"


def test_a_container_that_has_not_begun_is_not_paused(tmp_path: Path) -> None:
    """An engine knows it, and no process of it: nothing is stopped, least of all process 0."""
    engine = tmp_path / "podman"
    engine.write_text("#!/bin/sh\ncase $2 in inspect) echo 0 ;; *) exit 125 ;; esac\n", encoding="utf-8")
    engine.chmod(0o755)

    assert not PausedContainer(str(engine), "torchbuild-x").pause()
