"""How much memory a build holds."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from torchbuild.shim.memory import MemoryWatch, anonymous_bytes
from torchbuild.shim.samples import Samples

MIB = 2**20
HOLD = """
import sys
held = bytearray({size})
held[::4096] = b"x" * len(held[::4096])
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def held() -> int:
    """Bytes that another process is made to hold: more than what comes and goes by itself."""
    return 400 * MIB


def test_other_processes_are_counted(held: int) -> None:
    """What compilers hold is seen, not only what the shim itself holds."""
    argv = [sys.executable, "-c", HOLD.format(size=held)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        during = anonymous_bytes()
        child.communicate(b"")

    assert during > held
    assert during % resource.getpagesize() == 0


def test_the_highest_is_kept(held: int) -> None:
    """A build of a second is measured too: the watch looks at once and not only every two seconds."""
    argv = [sys.executable, "-c", HOLD.format(size=held)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        watch = MemoryWatch()
        watch.start()
        watch.stop()
        child.communicate(b"")

    assert watch.peak > held
    assert not watch.is_alive()


def test_a_watch_ends_with_its_program() -> None:
    """A watch that nobody stopped does not keep a build from ending."""
    code = "from torchbuild.shim.memory import MemoryWatch; MemoryWatch().start()"

    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_each_look_is_kept(tmp_path: Path) -> None:
    """Memory, the edges that run and what else is known lie in a file when the watch ends."""
    path = tmp_path / "samples.jsonl"
    watch = MemoryWatch(Samples(str(path)))
    argv = ["/bin/sh", "-c", "sleep 300 & echo on; wait"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        watch.watch(child.pid, lambda: {"tokens": 4})
        watch.start()
        watch.stop()
        os.killpg(child.pid, signal.SIGKILL)

    first, last = (json.loads(line) for line in path.read_text().splitlines())
    assert (last["running"], last["tokens"]) == (1, 4)
    assert first["memory"] > 0
    assert max(first["memory"], last["memory"]) == watch.peak
