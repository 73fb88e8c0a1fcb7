"""Processes as they are told to a person."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from torchbuild.shim.asker import ask_of, descendants, describe

SLEEPER = "import sys, threading; print(threading.get_native_id(), flush=True); sys.stdin.read()"


def test_a_process_is_told_with_its_ancestors(tmp_path: Path) -> None:
    """Arguments and directory of who asked, then of each that started it, up to ours."""
    script = f"'{sys.executable}' -c '{SLEEPER}' 'https://name:secret@host/x' | cat"
    with subprocess.Popen(
        ["/bin/sh", "-c", script + "; true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        asker = ask_of(pid, os.getpid())
        below = descendants(process.pid)
        process.communicate()

    assert asker["argv"][-1] == "https://***@host/x"
    assert (asker["pid"], asker["cwd"]) == (pid, str(tmp_path))
    assert [item["argv"][0] for item in asker["ancestors"]] == ["/bin/sh"]
    assert pid in below


def test_a_thread_is_told_as_its_process() -> None:
    """A resolver's thread is no name that a person knows."""
    script = SLEEPER.replace("print(", "t = threading.Thread(target=lambda: (print(").replace(
        "; sys", ", sys.stdin.read())); t.start(); sys"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        thread = int(process.stdout.readline())
        seen = describe(thread)
        process.communicate()

    assert thread != process.pid
    assert seen["pid"] == process.pid
    assert seen["argv"][0] == sys.executable


def test_a_process_that_is_gone_is_told_as_nothing() -> None:
    """It may end while we look; that is no error."""
    with subprocess.Popen(["/bin/true"]) as process:
        process.wait()

    assert describe(process.pid) == {"pid": process.pid, "argv": [""], "cwd": None}
    assert descendants(process.pid) == set()
