"""Our make, before makes of several ages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchbuild.shim.equipment import lay_makes

PACKAGE = Path(__file__).parents[2] / "torchbuild" / "shim"
FAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo "GNU Make {version}"; exit; fi
echo "flags=$MAKEFLAGS"
echo "arguments=$*"
"""


class Bench:
    """Our make first on PATH, another behind it."""

    def __init__(self, root: Path, version: str) -> None:
        self.bin, self.pipe = root / "venv" / "bin", root / "jobs"
        self.bin.mkdir(parents=True)
        (root / "shim").mkdir()
        (root / "shim" / "torchbuild_shim").symlink_to(PACKAGE)
        real = root / "real"
        real.mkdir()
        (real / "make").write_text(FAKE.format(version=version), encoding="utf-8")
        (real / "make").chmod(0o755)
        os.mkfifo(self.pipe)
        self.path = f"{self.bin}:{real}"
        self._lay(root / "shim", real)

    def _lay(self, shim: Path, real: Path) -> None:
        script = (
            "import sys; from torchbuild.shim.equipment import lay_makes; print(lay_makes(*sys.argv[1:]))"
        )
        argv = [sys.executable, "-c", script, str(self.bin), str(shim)]
        environ = {"PATH": f"{self.bin}:{real}", "PYTHONPATH": str(PACKAGE.parents[1])}
        done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True)
        assert done.stdout == "['make']\n"

    def make(self, *arguments: str, **environ: str) -> dict[str, str]:
        """What the real one was called with."""
        argv = [str(self.bin / "make"), *arguments]
        environ = {"PATH": f"{self.path}:/usr/bin:/bin", **environ}
        done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True)
        return dict(line.split("=", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("version", ["4.4", "4.4.1", "5.0"])
def test_a_make_that_knows_pipes_by_name_gets_the_name(tmp_path: Path, version: str) -> None:
    """It is a client by itself, once its own -j is gone."""
    bench = Bench(tmp_path, version)
    flags = f" -j4 --jobserver-auth=fifo:{bench.pipe}"

    assert bench.make("-j8", "-l4", "all", MAKEFLAGS=flags) == {"flags": flags, "arguments": "all"}


@pytest.mark.parametrize(
    ("version", "option"), [("4.3", "auth"), ("4.2.1", "auth"), ("4.1", "fds"), ("3.82", "fds")]
)
def test_an_older_one_gets_its_descriptor(tmp_path: Path, version: str, option: str) -> None:
    """Under the name that the option had in its day."""
    bench = Bench(tmp_path, version)

    told = bench.make("-kj", "all", MAKEFLAGS=f" -j4 --jobserver-auth=fifo:{bench.pipe}")

    words = told["flags"].split()
    assert words[0] == "-j"
    name, _, files = words[1].partition("=")
    assert name == f"--jobserver-{option}"
    assert len(set(files.split(","))) == 1
    assert told["arguments"] == "-k all"


def test_without_a_jobserver_it_is_make(tmp_path: Path) -> None:
    """What is made outside of our ninja is made as it was asked for."""
    assert Bench(tmp_path, "4.3").make("-j8", "all") == {"flags": "", "arguments": "-j8 all"}


def test_a_make_that_make_starts_keeps_its_parents_descriptors(tmp_path: Path) -> None:
    """A sub-make's own -j goes as well; the tokens are its parent's."""
    told = Bench(tmp_path, "4.3").make("-j", "9", "sub", MAKEFLAGS=" -j --jobserver-auth=8,8")

    assert told == {"flags": " -j --jobserver-auth=8,8", "arguments": "sub"}


def test_where_there_is_none_it_says_so(tmp_path: Path) -> None:
    """As a shell would, with its exit code."""
    bench = Bench(tmp_path, "4.3")
    done = subprocess.run(
        [str(bench.bin / "make")], env={"PATH": str(bench.bin)}, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (127, "torchbuild: make: not found in PATH\n")


def test_nothing_is_laid_where_there_is_no_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree that looks for make finds none where the builder has none."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert lay_makes(str(tmp_path / "bin"), str(tmp_path)) == []
