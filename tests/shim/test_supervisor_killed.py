"""Programs that real compilers start are killed, one after the other: each time the edge is run again, once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from supervised import Yard

from torchbuild.shim.processes import look

GENCODE = "-gencode arch=compute_90,code=sm_90 -gencode arch=compute_80,code=sm_80"
SOURCE = (
    '#include <map>\n#include <regex>\n#include <string>\nstd::regex r("a");\nstd::map<int, std::string> m;\n'
)
KERNEL = "#include <cstdio>\n__global__ void k(int *p) { for (int i = 0; i < 9; ++i) p[i] += i * *p; }\n"


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    """Ours, with a source of each kind."""
    made = Yard(tmp_path_factory.mktemp("killed") / "yard")
    made.expect()
    (made.build.parent / "a.cpp").write_text(SOURCE, encoding="utf-8")
    (made.build.parent / "a.cu").write_text(KERNEL, encoding="utf-8")
    return made


def killing(yard: Yard, victim: str) -> tuple[int, str]:
    """Build, and kill the first process of this name that is below it."""
    with yard.start(yard.ninja, CCACHE_DIR=str(yard.root / "ccache"), CCACHE_RECACHE="1") as ninja:
        killed = False
        while ninja.poll() is None and not killed:
            for process in look().below(ninja.pid):
                if process.name == victim:
                    os.kill(process.pid, signal.SIGKILL)
                    killed = True
        said, _ = ninja.communicate(timeout=120)
    assert killed, f"{victim} was never seen"
    return ninja.returncode, said


@pytest.mark.parametrize(
    ("command", "source", "victim"),
    [
        ("g++", "a.cpp", "cc1plus"),
        ("g++", "a.cpp", "as"),
        ("clang++", "a.cpp", "clang++"),  # it is its own compiler
        ("clang++ -fno-integrated-cc1", "a.cpp", "clang"),
        ("clang++ -fno-integrated-as", "a.cpp", "as"),
        (f"nvcc {GENCODE}", "a.cu", "cicc"),
        (f"nvcc {GENCODE}", "a.cu", "ptxas"),
        (f"nvcc {GENCODE}", "a.cu", "cudafe++"),
        (f"nvcc {GENCODE}", "a.cu", "cc1plus"),
        (f"nvcc -t 2 {GENCODE}", "a.cu", "cicc"),
        (f"nvcc -t 2 {GENCODE}", "a.cu", "ptxas"),
    ],
)
def test_what_is_killed_behind_a_driver_is_recognised(
    yard: Yard, command: str, source: str, victim: str
) -> None:
    """Each driver has its own words, and its own exit code, for what became of its compiler."""
    program = command.split(maxsplit=1)[0]
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    yard.clean()
    yard.write(
        f"rule cc\n  command = {yard.launch} {command} -O2 -c $in -o $out\nbuild a.o: cc ../{source}\n"
    )

    code, said = killing(yard, victim)

    assert code == 0, said
    assert "a.o was killed; it is run again alone" in said
    assert yard.left()["edges_rerun"] == 1


def test_behind_a_cache_too(yard: Yard, tmp_path: Path) -> None:
    """The cache sees a compile that went well, and keeps nothing of the one that did not."""
    if subprocess.run(["ccache", "--version"], check=False, capture_output=True).returncode:
        pytest.skip("no ccache here")
    yard.clean()
    source = "".join(f"int f{number}(int x) {{ return x * {number}; }}\n" for number in range(20_000))
    (tmp_path / "b.cpp").write_text(source, encoding="utf-8")
    yard.write(f"rule cc\n  command = ccache g++ -O2 -c $in -o $out\nbuild a.o: cc {tmp_path}/b.cpp\n")

    code, said = killing(yard, "cc1plus")

    assert code == 0, said
    assert "fatal error" not in said
