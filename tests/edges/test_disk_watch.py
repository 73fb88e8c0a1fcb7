"""A disk that runs full makes a build wait, and what waits is neither lost nor busy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.disk_watch import DiskWatch
from torchbuild.edges.local import LocalExecutor
from torchbuild.errors import HostError
from torchbuild.model.command import Command

MIB = 1 << 20
PATIENCE_S = 60.0

BUILD = """
import json, sys, threading
from pathlib import Path
from torchbuild.edges.disk_watch import DiskWatch
from torchbuild.edges.local import LocalExecutor
from torchbuild.model.command import Command
disk, elsewhere, is_watched = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "watched"
ballast = disk / "ballast"
ballast.write_bytes(bytes(3 << 20))
executor = LocalExecutor(root=disk / "root", store=elsewhere / "store", cache=elsewhere / "cache")
said, grown = [], []

def tell(text, is_low):
    said.append(text)
    if is_low:
        before = len(list((disk / "root").iterdir()))
        threading.Event().wait(0.3)
        grown.append(len(list((disk / "root").iterdir())) - before)
        ballast.unlink()

if is_watched:
    executor.watch = DiskWatch([elsewhere, disk, disk / "root"], 2 << 20, interval_s=0.005)
    executor.watch.report_to(tell)
writer = 'set -e; cd /torchbuild; for i in $(seq 384); do head -c 16384 /dev/zero >f$i; done'
argv = ("/usr/bin/setsid", "-w", "/bin/sh", "-c", writer)
done = executor.run(Command(argv=argv, environ=(("PATH", "/usr/bin:/bin"),)), log=elsewhere / "log")
print(json.dumps([done.exit_code, said, grown]))
"""
"""Writes six MiB, from a session of its own, to a disk of eight of which three are taken."""


def built(tmp_path: Path, how: str) -> Any:
    """How a real command fared on a real file system of eight MiB."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("only root may mount a file system")
    (tmp_path / "disk").mkdir()
    mount = 'mount -t tmpfs -o size=8m none "$1" && exec "$2" -c "$3" "$1" "$4" "$5"'
    argv = ["unshare", "-m", "sh", "-c", mount, "sh", tmp_path / "disk", sys.executable, BUILD, tmp_path, how]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_without_a_watch_a_full_disk_ends_the_command(tmp_path: Path) -> None:
    """What the watch is for."""
    code, said, _ = built(tmp_path, "unwatched")

    assert (code, said) == (1, [])


def test_a_build_waits_for_space_and_goes_on(tmp_path: Path) -> None:
    """Nothing is written while it waits, whatever group it runs in; who frees space is all it needs."""
    code, said, grown = built(tmp_path, "watched")

    assert (code, grown) == (0, [0])
    low, back = said
    assert "the build waits" in low
    assert "`torchbuild store gc`" in low
    assert "less than machine.disk_floor, 2.0 MiB" in low
    assert "goes on" in back


class Run:
    """Something that can be paused, and what happened to it."""

    def __init__(self, *, can_pause: bool = True) -> None:
        self.can_pause = can_pause
        self.seen: list[str] = []
        self.told = threading.Event()

    def pause(self) -> bool:
        """As the watch asks for it."""
        self.seen.append("pause")
        return self.can_pause

    def resume(self) -> None:
        """As the watch asks for it."""
        self.seen.append("resume")

    def tell(self, text: str, is_low: bool) -> None:
        """What the user would read."""
        self.seen.append(text)
        self.told.set()


def watched(tmp_path: Path, run: Run, floor: int) -> DiskWatch:
    """A watch that looks often."""
    watch = DiskWatch([tmp_path / "not made yet", tmp_path], floor, interval_s=0.001)
    watch.report_to(run.tell)
    return watch


def test_what_is_paused_at_the_end_is_resumed(tmp_path: Path) -> None:
    """A stopped process cannot end itself: an interrupted build leaves nothing that waits for ever."""
    run = Run()

    with watched(tmp_path, run, 1 << 62).over(run.pause, run.resume):
        assert run.told.wait(PATIENCE_S)

    assert (run.seen[0], run.seen[-1]) == ("pause", "resume")
    assert run.seen.count("resume") == 1
    assert sum("the build waits" in line for line in run.seen) == 1


def test_a_build_that_cannot_be_paused_is_not_called_waiting(tmp_path: Path) -> None:
    """The user must hurry then, and is told so."""
    run = Run(can_pause=False)

    with watched(tmp_path, run, 1 << 62).over(run.pause, run.resume):
        assert run.told.wait(PATIENCE_S)

    assert any("cannot be paused and runs on" in line for line in run.seen)


@pytest.mark.parametrize("floor", [0, 1])
def test_enough_space_disturbs_nothing(tmp_path: Path, floor: int) -> None:
    """A floor of nothing watches nothing; one that is kept is never heard of."""
    run = Run()

    with watched(tmp_path, run, floor).over(run.pause, run.resume):
        run.told.wait(0.02)

    assert run.seen == []


def test_a_build_that_nobody_helps_ends(tmp_path: Path) -> None:
    """After its time of patience: a job that hung would be taken away without a word. What may go is named."""
    run, ended = Run(), threading.Event()
    watch = DiskWatch(
        [tmp_path], 1 << 62, patience_s=0.01, taken=lambda: ["takes 9 GB: run old"], interval_s=0.001
    )

    with pytest.raises(HostError) as caught, watch.over(run.pause, run.resume, ended.set):
        assert ended.wait(PATIENCE_S)

    assert caught.value.reference == "disk-full"
    assert caught.value.why[-1] == "takes 9 GB: run old"
    assert "machine.disk_floor" in caught.value.why[0]
    assert run.seen[-1] == "resume"


def test_what_the_end_looks_like_from_outside_is_not_its_cause(tmp_path: Path) -> None:
    """An engine whose container was killed says that it failed; the user reads that the disk is full."""
    run, ended = Run(), threading.Event()
    watch = DiskWatch([tmp_path], 1 << 62, patience_s=0.01, interval_s=0.001)

    def gone() -> None:
        assert ended.wait(PATIENCE_S)
        raise ValueError("the container is gone")

    with pytest.raises(HostError) as caught, watch.over(run.pause, run.resume, ended.set):
        gone()

    assert caught.value.reference == "disk-full"


@pytest.mark.parametrize(("patience_s", "can_pause"), [(0, True), (0.001, False)])
def test_patience_ends_only_what_waits(tmp_path: Path, patience_s: float, can_pause: bool) -> None:
    """Without a limit all waits; what cannot be paused goes on, and is not taken for waiting."""
    run, ended = Run(can_pause=can_pause), threading.Event()
    watch = DiskWatch([tmp_path], 1 << 62, patience_s=patience_s, interval_s=0.001)

    with watch.over(run.pause, run.resume, ended.set):
        assert not ended.wait(0.05)


def test_a_real_build_that_nobody_helps_is_gone(tmp_path: Path) -> None:
    """Its processes end, stopped as they are, and the caller gets the reason."""
    places = {name: tmp_path / name for name in ("root", "store", "cache")}
    executor = LocalExecutor(**places)
    executor.watch = DiskWatch([tmp_path], 1 << 62, patience_s=0.05, interval_s=0.005)
    command = Command(argv=("/bin/sh", "-c", "while :; do :; done"), environ=(("PATH", "/usr/bin:/bin"),))

    with pytest.raises(HostError) as caught:
        executor.run(command, log=tmp_path / "log")

    assert caught.value.reference == "disk-full"
