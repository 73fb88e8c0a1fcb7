"""A real CUDA 13.0 out of wheels: completed, proven; and with an unpinned nvvm refused, with its cause."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchbuild.knowledge.cuda_facts import cuda_wheels, newest_of
from torchbuild.model.finding import Finding, failures
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.cuda_environment import cuda_environment, cuda_path
from torchbuild.toolchains.cuda_proof import CHECKS, complete_request, completed, look_request
from torchbuild.toolchains.proof import Wanted, judge

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600)]

COMPILER = ("nvidia-cuda-cccl", "nvidia-cuda-crt", "nvidia-cuda-nvcc", "nvidia-cuda-runtime", "nvidia-nvvm")
PROGRAMS = ("cicc", "cudafe++", "fatbinary", "nvcc", "nvlink", "ptxas")
WANTED = Wanted(archs=("7.5", "9.0", "12.0+PTX"), cxx=shutil.which("g++") or "", torch="2.9.0", cuda="13.0")
SHIM = Path(__file__).parents[2] / "torchbuild" / "shim"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of 13.0.2 that compile, and the newest nvvm: of a folder, or of the index."""
    if "real" not in os.environ.get("TORCHBUILD_TEST_REQUIRE", "").split(","):
        pytest.skip("some 200 MB of wheels: ask for them with TORCHBUILD_TEST_REQUIRE=real")
    folder = tmp_path_factory.mktemp("wheels")
    kept = os.environ.get("TORCHBUILD_TEST_CUDA_WHEELS")
    row = newest_of("13.0.2")
    assert row is not None
    pins = [f"{name}=={row.wheels[name]}" for name in COMPILER]
    pins.append(f"nvidia-nvvm=={cuda_wheels()[-1].wheels['nvidia-nvvm']}")
    for pin in pins:
        argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(folder), pin]
        argv += ["--find-links", kept] if kept else []
        subprocess.run(argv, check=True)
    return folder


def _lay(wheels: Iterator[Path], prefix: Path) -> None:
    """As the toolchain stage does: the contents of one directory of each."""
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            for item in archive.infolist():
                inner = item.filename.removeprefix("nvidia/cu13/")
                if inner != item.filename and not item.is_dir():
                    (prefix / inner).parent.mkdir(parents=True, exist_ok=True)
                    (prefix / inner).write_bytes(archive.read(item))


def _guest(name: str, request: dict[str, Any], folder: Path) -> dict[str, Any]:
    (folder / "request.json").write_text(json.dumps(request))
    argv = [sys.executable, "-I", str(SHIM / name), str(folder / "request.json")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _proven(wheels: Iterator[Path], folder: Path) -> tuple[Finding, ...]:
    says = dict.fromkeys(PROGRAMS, "13.0.88")
    prefix = str(folder / "cuda")
    part = LockedPart(name="cuda", provider="wheels", version="13.0.2", prefix=prefix, says=says)
    _lay(wheels, folder / "cuda")
    request = complete_request(part, shutil.which("gcc") or "", str(folder / "made"))
    assert completed(_guest("complete_cuda.py", request, folder)).outcome == "passed"
    environment = cuda_environment(part, WANTED.cxx) | {"PATH": cuda_path(part, "/usr/bin:/bin")}
    seen = _guest("look_cuda.py", look_request(part, WANTED, environment, str(folder / "look")), folder)
    return judge(CHECKS, part, WANTED, seen)


def test_wheels_of_one_release_are_a_toolkit(wheels: Path, tmp_path: Path) -> None:
    """Kernels for sm_75, sm_90 and PTX compile, link and start; every check passes."""
    findings = _proven((path for path in wheels.iterdir() if "-13.0." in path.name), tmp_path)

    assert failures(findings) == ()
    assert [item.outcome for item in findings if item.reference == "cuda-architecture"] == ["passed"] * 3
    assert [item.outcome for item in findings if item.reference == "cuda-probe-starts"] == ["passed"]


def test_an_nvvm_of_another_release_is_refused(wheels: Path, tmp_path: Path) -> None:
    """What pip brings when nobody pins it."""
    newest = cuda_wheels()[-1].wheels["nvidia-nvvm"]
    names = sorted(wheels.iterdir(), key=lambda path: f"-{newest}-" in path.name)

    findings = _proven((path for path in names if "nvvm-13.0." not in path.name), tmp_path)

    (mixed,) = (item for item in failures(findings) if item.reference == "cuda-one-release")
    assert f"cicc {newest}" in mixed.seen
    assert "ptxas 13.0.88" in mixed.seen
    assert "Unsupported .version" in mixed.what
