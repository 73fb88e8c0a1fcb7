"""What nvcc of the CUDA builder image compiles now, read by us and by its cuobjdump."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.engine import find_engine
from torchbuild.errors import HostError
from torchbuild.inspection.gpu_code import gpu_code
from torchbuild.inspection.gpu_code_check import agrees, compare

pytestmark = pytest.mark.container

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "gpu_code"
IMAGE = os.environ.get("TORCHBUILD_TEST_CUDA_IMAGE") or "localhost/torchbuild/debian-trixie-cu124"
ARCHS = ("7.5", "9.0+PTX")
LIBRARIES = ("/usr/lib/x86_64-linux-gnu/libnccl.so.2", "/usr/lib/x86_64-linux-gnu/libcudart_static.a")
SCRIPT = """
set -eu
cd /made
sh make.sh 12.4
cp -L $LIBRARIES .
printf '{"files": [' > request.json
for file in 12.4-* lib*; do printf '"/made/%s",' "$file"; done | sed 's/,$/]}/' >> request.json
python3 -I look.py request.json > told.json
"""


def check_runs(engine: str) -> None:
    """An engine that has the image may still not run it here; who requires an engine hears of it as a failure."""
    argv = [engine, "run", "--rm", "--network=none", "--pull=never", IMAGE, "/bin/true"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=500)
    if done.returncode != 0:
        required = "container" in os.environ.get("TORCHBUILD_TEST_REQUIRE", "").split(",")
        (pytest.fail if required else pytest.skip)(f"{engine} runs nothing of {IMAGE}: {done.stderr[-400:]}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Objects compiled in the image, its own libraries, and what its cuobjdump lists of both."""
    try:
        engine = find_engine("auto")
    except HostError as error:
        pytest.skip(f"no container engine: {error.what}")
    has = subprocess.run([engine, "image", "inspect", IMAGE], capture_output=True, check=False)
    if has.returncode != 0:
        pytest.skip(f"the image {IMAGE} with nvcc is not on this machine")
    check_runs(engine)
    folder = tmp_path_factory.mktemp("gpu-code")
    for name in ("make.sh", "one.cu", "two.cu"):
        shutil.copy(DATA / name, folder)
    shutil.copy(ROOT / "torchbuild" / "shim" / "look_gpu_code.py", folder / "look.py")
    argv = [engine, "run", "--rm", "--network=none", "--pull=never", f"--volume={folder}:/made"]
    argv += [f"--env=LIBRARIES={' '.join(LIBRARIES)}", IMAGE, "sh", "-c", SCRIPT]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def told(made: Path) -> dict[str, Any]:
    """By file name."""
    answer = json.loads((made / "told.json").read_text(encoding="utf-8"))
    return {Path(path).name: seen for path, seen in answer.items()}


def test_what_is_compiled_is_what_was_asked_for(made: Path) -> None:
    """By the very check that a build is judged by."""
    findings = compare(gpu_code(made / "12.4-plain.o"), ARCHS)

    assert {item.outcome for item in findings} == {"passed"}, findings
    assert "failed" in {item.outcome for item in compare(gpu_code(made / "12.4-plain.o"), ("8.0",))}


def test_both_readers_list_the_same(made: Path, told: dict[str, Any]) -> None:
    """Every object, the device-linked library, a static library, and NCCL as Debian ships it."""
    assert len(told) == 12
    for name, seen in told.items():
        findings = agrees(gpu_code(made / name), seen)
        assert {item.outcome for item in findings} == {"passed"}, findings


def test_little_of_a_large_library_is_read(made: Path) -> None:
    """NCCL has 241 MB, of which headers are a thousandth."""
    library = made / "libnccl.so.2"
    code = gpu_code(library)

    assert "sm_90" in code.sass
    assert code.read_bytes < library.stat().st_size / 100
