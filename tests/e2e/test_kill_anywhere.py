"""A build that is killed again and again: the small version of the evidence that `kill_anywhere.py` makes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).with_name("kill_anywhere.py")

pytestmark = pytest.mark.timeout(1800)  # a hang ends, a busy machine does not


def test_six_kills_change_nothing(downloads: Path, tmp_path: Path) -> None:
    """Killed six times at random instants, the same command ends with the same wheel; nothing killed lives on."""
    argv = ["--executor=local", "--kills=6", "--per-build=6", "--seed=20", f"--cache={downloads}"]
    done = subprocess.run(
        [sys.executable, str(TOOL), *argv, f"--work={tmp_path}"], capture_output=True, text=True, check=False
    )
    if any(word in done.stderr for word in ("not-reachable", "no-package-index")):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    assert sum(json.loads(done.stdout)["kills"].values()) == 6
