"""A build that somebody stops: what runs is finished and counts, nothing begins, and the next run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from supervised import Yard

from torchbuild.shim.ninja import STOPPED
from torchbuild.shim.processes import Process, Processes
from torchbuild.shim.stopping import Stopping

EDGE = """#!/bin/sh
# begins, tells its name, waits until it may end, and makes the output
echo "$1" >>{root}/begun
echo "$1" >{root}/news
read -r _ <{root}/go-"$1"
: >"$1"
"""
MAKEFILE = "all: n0 n1 n2\nn%:\n\t@{launch} ../../edge $@\n"


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    """Ours, laid once."""
    return Yard(tmp_path_factory.mktemp("stopping") / "yard")


class Steps:
    """Edges that begin and end as a test says."""

    def __init__(self, yard: Yard) -> None:
        self.yard, self.mark = yard, yard.shim / "stop-asked"
        self.news = os.open(yard.root / "news", os.O_RDWR)

    def rules(self, count: int, rule: str = "cc") -> None:
        """So many edges `e0`, `e1`…, compilers or others."""
        rules = f"rule cc\n  command = {self.yard.launch} ../../edge $out\n"
        rules += "rule other\n  command = ../../edge $out\n"
        rules += f"rule make\n  command = make -f {self.yard.root}/Makefile && : >$out\n"
        self.yard.write(rules + "".join(f"build e{number}: {rule}\n" for number in range(count)))
        for name in [*(f"e{number}" for number in range(count)), "n0", "n1", "n2"]:
            os.mkfifo(self.yard.root / f"go-{name}")

    def begun(self, count: int) -> list[str]:
        """Wait until so many edges began; their names."""
        names: list[str] = []
        while len(names) < count:
            names += os.read(self.news, 4096).decode().split()
        return names

    def end(self, *names: str) -> None:
        """Let them end."""
        for name in names:
            with (self.yard.root / f"go-{name}").open("w") as pipe:
                pipe.write("\n")

    def ask(self, ninja: subprocess.Popen[str]) -> None:
        """Ask it to stop, and wait until it has heard."""
        self.mark.touch()
        assert ninja.stdout is not None
        assert any("stopping, as asked" in line for line in ninja.stdout), "it ended"

    def ran(self) -> list[str]:
        """Every edge that ever began, in order."""
        return (self.yard.root / "begun").read_text().split()

    def finished(self) -> set[str]:
        """What ninja noted as made."""
        lines = (self.yard.build / ".ninja_log").read_text().splitlines()
        return {line.split("\t")[3] for line in lines if not line.startswith("#")}

    @contextmanager
    def ninja(self, *options: str) -> Iterator[subprocess.Popen[str]]:
        """Ours, at work."""
        with self.yard.start(self.yard.ninja, *options) as running:
            try:
                yield running
            finally:
                if running.poll() is None:
                    os.killpg(running.pid, signal.SIGKILL)

    def rest(self) -> list[str]:
        """Run again, to the end, without a stop; what began in it."""
        self.mark.unlink(missing_ok=True)
        self._forget_news()
        before = len(self.ran())
        ending = threading.Thread(target=self._end_all)
        ending.start()
        try:
            code, said = self.yard.run(self.yard.ninja)
        finally:
            os.write(self.news, b"over\n")
            ending.join(timeout=60)
        assert code == 0, said
        return self.ran()[before:]

    def _forget_news(self) -> None:
        """Who was held and ended may have told that it began; nobody would ever read what it is answered."""
        os.set_blocking(self.news, False)
        with suppress(BlockingIOError):
            while os.read(self.news, 4096):
                pass
        os.set_blocking(self.news, True)

    def _end_all(self) -> None:
        while "over" not in (names := self.begun(1)):
            self.end(*names)


@pytest.fixture
def steps(laid: Yard) -> Iterator[Steps]:
    """An empty build tree."""
    for path in laid.root.iterdir():
        if path.is_fifo() or path.is_file():
            path.unlink()
    laid.clean()
    laid.expect()
    os.mkfifo(laid.root / "news")
    (laid.root / "edge").write_text(EDGE.format(root=laid.root), encoding="utf-8")
    (laid.root / "edge").chmod(0o755)
    (laid.root / "Makefile").write_text(MAKEFILE.format(launch=laid.launch), encoding="utf-8")
    (laid.shim / "stop-asked").unlink(missing_ok=True)
    steps = Steps(laid)
    yield steps
    os.close(steps.news)


@pytest.mark.parametrize("rule", ["cc", "other"])
def test_what_runs_is_finished_and_nothing_begins(steps: Steps, rule: str) -> None:
    """Asked to stop, two of five edges end well and count; the next run makes the other three and no more."""
    steps.rules(5, rule)
    with steps.ninja("-j2") as ninja:
        running = steps.begun(2)
        steps.ask(ninja)
        steps.end(*running)
        said, _ = ninja.communicate(timeout=60)

    assert ninja.returncode == STOPPED, said
    assert "FAILED" not in said
    assert steps.finished() == set(running)
    assert steps.yard.left()["stopped"]
    assert {name for name in ("e0", "e1", "e2", "e3", "e4") if (steps.yard.build / name).exists()} == set(
        running
    )

    begun_then = steps.rest()

    assert steps.finished() == {"e0", "e1", "e2", "e3", "e4"}
    assert not set(begun_then) & set(running)
    assert not steps.yard.left()["stopped"]


def test_a_make_that_is_an_edge_is_finished(steps: Steps) -> None:
    """What a running edge starts itself goes on: its compilers are let in, one after another."""
    steps.rules(1, "make")
    with steps.ninja("-j3") as ninja:
        running = steps.begun(1)
        steps.ask(ninja)
        steps.end(*running)
        while len(running) < 3:
            more = steps.begun(1)
            steps.end(*more)
            running += more
        said, _ = ninja.communicate(timeout=60)

    assert ninja.returncode in (0, STOPPED), said
    assert sorted(steps.ran()) == ["n0", "n1", "n2"]
    assert steps.finished() == {"e0"}


def test_a_compiler_that_waits_for_memory_has_not_begun(steps: Steps) -> None:
    """Only what runs is waited for; what would wait for room as well is made by the next run."""
    steps.yard.expect(other=1 << 60)  # so that one alone fits
    steps.rules(3)
    with steps.ninja("-j3") as ninja:
        running = steps.begun(1)
        steps.ask(ninja)
        steps.end(*running)
        said, _ = ninja.communicate(timeout=60)

    assert ninja.returncode == STOPPED, said
    assert steps.ran() == running
    assert len(steps.rest()) == 2


def test_asked_before_it_began_nothing_begins(steps: Steps) -> None:
    """A stop that was asked for while CMake still ran."""
    steps.rules(2)
    steps.mark.touch()

    code, _ = steps.yard.run(steps.yard.ninja)

    assert code == STOPPED
    assert steps.yard.left() == {"exit_code": STOPPED, "stopped": True}
    assert not (steps.yard.root / "begun").exists()


def test_a_failure_meanwhile_is_no_loss(steps: Steps) -> None:
    """An edge that fails while the others end is told, and they count all the same."""
    steps.rules(2)
    (steps.yard.root / "edge").write_text(EDGE.format(root=steps.yard.root) + "[ $1 = e0 ] || exit 3\n")
    with steps.ninja("-j2") as ninja:
        running = steps.begun(2)
        steps.ask(ninja)
        steps.end(*running)
        said, _ = ninja.communicate(timeout=60)

    assert "FAILED" in said
    assert steps.finished() == {"e0"}


def test_what_ninja_has_not_looked_at_still_runs() -> None:
    """An edge whose program ended counts as running until ninja took it, and so noted it."""
    me = os.getpid()
    ended = Processes([Process(me, 1, "ninja", 0, False), Process(1 << 22, me, "sh", 0, True)])
    stopping = Stopping("/nonexistent")

    assert stopping.begin(ended, me, set()) == 1
    stopping.go_on(ended, me)

    assert not stopping.is_over


def test_what_is_not_its_program_yet_is_not_held() -> None:
    """Ninja stands still until a child has become its program: held before that, both would stand for ever."""
    me, waiting = os.getpid(), os.pipe()
    child = os.fork()
    if child == 0:
        os.read(waiting[0], 1)
        os._exit(0)
    running = [Process(me, 1, "ninja", 0, False), Process(1 << 22, me, "sh", 0, False)]
    stopping = Stopping("/nonexistent")
    stopping.begin(Processes(running), me, set())
    stopping.go_on(Processes([*running, Process(child, me, "ninja", 0, False)]), me)

    assert os.waitpid(child, os.WUNTRACED | os.WNOHANG) == (0, 0)
    os.write(waiting[1], b"x")
    os.waitpid(child, 0)


def test_what_begins_as_ninja_is_interrupted_is_ended() -> None:
    """Ninja waits for it, and nobody would ever answer its launcher."""
    with subprocess.Popen(["/bin/sleep", "600"]) as ninja, subprocess.Popen(["/bin/sleep", "601"]) as late:
        stopping = Stopping("/nonexistent")
        itself = Process(ninja.pid, 1, "ninja", 0, False)
        stopping.begin(Processes([itself]), ninja.pid, set())
        stopping.go_on(Processes([itself]), ninja.pid)
        stopping.go_on(Processes([itself, Process(late.pid, ninja.pid, "sh", 0, False)]), ninja.pid)

        assert ninja.wait(timeout=60) == -signal.SIGINT
        assert late.wait(timeout=60) == -signal.SIGKILL
