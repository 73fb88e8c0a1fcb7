"""Completing a toolkit that was laid from wheels or archives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.toolchains.stand_in_toolkit import GCC, Toolkit, laid

SCRIPT = Path(__file__).parents[2] / "torchbuild" / "shim" / "complete_cuda.py"


def complete(prefix: Path, **other: Any) -> dict[str, list[str]]:
    """Run the script as a build does."""
    request = {
        "prefix": str(prefix),
        "cc": GCC,
        "scratch": str(prefix.parent / "scratch"),
        "release": "13.0.2",
        "versions": {"nvcc": "13.0.88"},
    }
    path = prefix.parent / "request.json"
    path.write_text(json.dumps(request | other), encoding="utf-8")
    argv = [sys.executable, "-I", str(SCRIPT), str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    (line,) = done.stdout.splitlines()
    answer: dict[str, list[str]] = json.loads(line)
    return answer


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """As wheels lay it."""
    return laid(tmp_path / "cuda", Toolkit(is_complete=False))


def test_what_finders_look_for_is_there_afterwards(bare: Path) -> None:
    """lib64, unversioned names, programs that start, the driver's stub, version.json: and the second time nothing."""
    answer = complete(bare)

    assert answer["problems"] == []
    assert (bare / "lib64").readlink() == Path("lib")
    assert (bare / "lib64/libcudart.so").readlink() == Path("libcudart.so.13")
    assert os.access(bare / "bin/nvcc", os.X_OK)
    assert os.access(bare / "nvvm/bin/cicc", os.X_OK)
    assert not os.access(bare / "bin/nvcc.profile", os.X_OK)
    assert set(answer["made"]) >= {
        "lib64",
        "lib/libcudart.so",
        "lib/stubs/libcuda.so",
        "version.json",
        "bin/nvcc",
    }
    assert complete(bare) == {"made": [], "problems": []}


def test_the_stub_has_every_name_that_a_program_may_link(bare: Path) -> None:
    """Names behind macros, older entry points and one stream a thread are there; what stands in a comment is not."""
    complete(bare)
    stub = bare / "lib/stubs/libcuda.so"
    names = subprocess.run(
        ["nm", "-D", "--defined-only", stub], capture_output=True, text=True, check=True
    ).stdout
    dynamic = subprocess.run(["readelf", "-dW", stub], capture_output=True, text=True, check=True).stdout

    assert {line.split()[2] for line in names.splitlines()} == {
        *("cuInit", "cuDeviceGetCount", "cuMemAlloc", "cuMemAlloc_v2", "cuStreamWait", "cuStreamWait_ptsz"),
    }
    assert "[libcuda.so.1]" in dynamic
    assert "NEEDED" not in dynamic


def test_the_stub_is_the_same_twice(tmp_path: Path) -> None:
    """It enters builds: its bytes depend on the headers and the compiler alone."""
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        prefix = laid(tmp_path / name / "cuda", Toolkit(is_complete=False))
        complete(prefix)
        made.append((prefix / "lib/stubs/libcuda.so").read_bytes())

    assert made[0] == made[1]


def test_version_json_says_who_wrote_it(bare: Path) -> None:
    """Nobody may take our word for the provider's; a provider's own file stays."""
    complete(bare)
    table = json.loads((bare / "version.json").read_text())
    assert table["cuda"]["version"] == "13.0.2"
    assert table["cuda_nvcc"]["version"] == "13.0.88"
    assert "torchbuild" in table["torchbuild"]["name"]

    (bare / "version.json").write_text('{"cuda": {"version": "9"}}')
    assert complete(bare)["made"] == []
    assert json.loads((bare / "version.json").read_text()) == {"cuda": {"version": "9"}}


def test_the_newest_of_several_libraries_is_linked(bare: Path) -> None:
    """Ten is more than nine, and a short name stands for a long one."""
    for name in (
        "libx.so.9",
        "libx.so.10",
        "libx.so.10.2",
        "liby.so.1.2.3",
        "libz.so",
        "libz.so.4",
        "libn.so.x",
    ):
        (bare / "lib" / name).write_bytes(b"")

    complete(bare)

    assert (bare / "lib/libx.so").readlink() == Path("libx.so.10")
    assert (bare / "lib/liby.so").readlink() == Path("liby.so.1.2.3")
    assert not (bare / "lib/libz.so").is_symlink()
    assert not (bare / "lib/libn.so").exists()


def test_the_profiler_is_found_where_old_finders_look(bare: Path) -> None:
    """Wheels lay it with the others; a provider's own directory stays as it is."""
    (bare / "lib/libcupti.so.13").write_bytes(b"")

    assert {"extras/CUPTI/include", "extras/CUPTI/lib64"} <= set(complete(bare)["made"])
    assert (bare / "extras/CUPTI/lib64/libcupti.so").exists()
    assert (bare / "extras/CUPTI/include/cuda.h").is_file()
    assert complete(bare)["made"] == []


def test_a_stub_of_the_provider_stays(bare: Path) -> None:
    """Archives bring their own."""
    (bare / "lib/stubs").mkdir()
    (bare / "lib/stubs/libcuda.so").write_bytes(b"theirs")

    assert "lib/stubs/libcuda.so" not in complete(bare)["made"]
    assert (bare / "lib/stubs/libcuda.so").read_bytes() == b"theirs"


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda prefix: (prefix / "include/cuda.h").unlink(), "cannot read"),
        (lambda prefix: (prefix / "include/cuda.h").write_text("#error not for you\n"), "not for you"),
        (lambda prefix: (prefix / "include/cuda.h").write_text("int x;\n"), "declares no function"),
        (lambda prefix: (prefix / "nvvm/libdevice/libdevice.10.bc").unlink(), "no libdevice"),
    ],
    ids=["no header", "header refuses", "empty header", "no libdevice"],
)
def test_what_cannot_be_made_is_told_and_the_rest_is_made(bare: Path, break_it: Any, said: str) -> None:
    """The script never fails: it says what is wrong, and goes on."""
    break_it(bare)

    answer = complete(bare)

    assert said in " ".join(answer["problems"])
    assert "lib64" in answer["made"]
    assert "version.json" in answer["made"]


def test_a_compiler_that_is_none_is_named(bare: Path) -> None:
    """The stub needs one."""
    assert "/nonexistent/gcc" in complete(bare, cc="/nonexistent/gcc")["problems"][0]


def test_libdevice_of_an_archive_is_linked(bare: Path) -> None:
    """Some lay it beside."""
    (bare / "libdevice").mkdir()
    (bare / "nvvm/libdevice/libdevice.10.bc").rename(bare / "libdevice/libdevice.10.bc")

    assert complete(bare)["problems"] == []
    assert (bare / "nvvm/libdevice/libdevice.10.bc").read_bytes() == b"BC"
