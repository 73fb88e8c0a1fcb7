"""A guard's own rights, in processes of their own: there is no way back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = str(Path(__file__).parents[2])
HIDE = """
import sys
sys.path.insert(0, sys.argv[1])
from torchbuild.shim.rights import hide_memory
hide_memory()
print(flush=True)
sys.stdin.read()
"""
GIVE_UP = """
import os, sys
sys.path.insert(0, sys.argv[1])
from torchbuild.shim.rights import give_up_tracing
give_up_tracing()
give_up_tracing()
print(next(line for line in open("/proc/self/status") if line.startswith("CapPrm")), flush=True)
"""


def test_a_hidden_process_belongs_to_root() -> None:
    """What /proc shows of it is no longer its user's to open."""
    argv = [sys.executable, "-I", "-c", HIDE, PACKAGE]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        owner = Path(f"/proc/{process.pid}/mem").stat().st_uid
        process.communicate()

    assert owner == 0


def test_tracing_is_given_up_and_nothing_else() -> None:
    """Root keeps every other right that it has: a build sees no difference."""
    before = _permitted(Path("/proc/self/status").read_text(encoding="ascii"))
    argv = [sys.executable, "-I", "-c", GIVE_UP, PACKAGE]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)

    assert _permitted(done.stdout) == before & ~(1 << 19)
    if os.geteuid() == 0 and not before & 1 << 19:
        pytest.skip("no right to give up here")


def _permitted(text: str) -> int:
    line = next(line for line in text.splitlines() if line.startswith("CapPrm"))
    return int(line.split()[1], 16)
