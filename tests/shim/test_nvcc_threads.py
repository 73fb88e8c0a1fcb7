"""How much an nvcc does at once, as its options say it, wherever they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchbuild.shim.nvcc_threads import at_once, threads_of

TWO = ("-gencode", "arch=compute_80,code=sm_80", "--generate-code=arch=compute_90,code=[sm_90]")
FOUR = (*TWO, "-gencode=arch=compute_86,code=[sm_86,compute_86]")


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--threads", "4"], 4),
        (["--threads=4"], 4),
        (["-t", "4"], 4),
        (["-t=4"], 4),
        (["-t4"], 4),
        (["-t2", "--threads", "3"], 3),
        (["-t", "9"], 4),
        ([], 1),
        (["-t", "1"], 1),
        (["-threads", "4"], 1),
        (["-target", "4"], 1),
        (["-t", "²"], 1),
        (["-t"], 1),
        (["--threads", "99999999999999999999"], 1),
    ],
)
def test_threads_are_told_in_several_ways(options: list[str], wanted: int) -> None:
    """As a real nvcc takes them; the last one counts, and never more than there are architectures."""
    assert at_once([*FOUR, *options], "/") == wanted


def test_zero_is_as_many_as_processors() -> None:
    """And one architecture is compiled by one, whatever is asked for."""
    assert at_once([*FOUR, "-t0"], "/") == min(4, os.cpu_count() or 1)
    assert at_once(["-t0"], "/") == 1


def test_options_stand_in_files_too(tmp_path: Path) -> None:
    """Files of options may name others, by a name that is relative to where nvcc runs."""
    (tmp_path / "a").write_text('"-DX=a b" -t\n3\n', encoding="utf-8")
    (tmp_path / "b").write_text("--options-file c\n", encoding="utf-8")
    (tmp_path / "c").write_text(" ".join(FOUR), encoding="utf-8")

    assert at_once(["-optf", "a,b"], str(tmp_path)) == 3
    assert at_once(["--options-file=a", *TWO], str(tmp_path)) == 2


def test_a_file_that_is_none_is_left_out(tmp_path: Path) -> None:
    """Nobody waits for a pipe, and a file that names itself is read a few times only."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "self").write_text("-optf self,self,self\n-t 2", encoding="utf-8")

    assert at_once(["-optf", "pipe,gone,/dev/zero,self", *FOUR], str(tmp_path)) == 2


def test_variables_count_as_well(tmp_path: Path) -> None:
    """NVCC_APPEND_FLAGS is how most people ask for threads."""
    script = "import sys; print(flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", script, *FOUR]
    environ = {"NVCC_PREPEND_FLAGS": "-t2", "NVCC_APPEND_FLAGS": "--threads 3"}
    with subprocess.Popen(argv, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as asks:
        assert asks.stdout is not None
        asks.stdout.readline()
        assert threads_of(asks.pid, "/usr/bin/nvcc", str(tmp_path)) == 3
        assert threads_of(asks.pid, "/usr/bin/g++", str(tmp_path)) == 1
        asks.communicate(b"")
    assert threads_of(0, "nvcc", "/") == 1
    assert threads_of(1 << 30, "nvcc", "/") == 1
