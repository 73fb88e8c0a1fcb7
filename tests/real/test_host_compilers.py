"""The host compiler of Debian's own CUDA 12.4, found inside the builder image."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from torchbuild.errors import ConflictError
from torchbuild.toolchains.host_compiler import Named, choose, limits_of
from torchbuild.toolchains.host_compiler_seen import builder_of

pytestmark = pytest.mark.real
IMAGE = os.environ.get("TORCHBUILD_TEST_CUDA_IMAGE") or "localhost/torchbuild/debian-trixie-cu124"
SHIM = Path(__file__).parents[2] / "torchbuild" / "shim"


def look(engine: str, folder: Path, cxx: str) -> dict[str, Any]:
    """What the image has."""
    request = {"cc": "gcc", "cxx": cxx, "cuda": "/usr", "nvcc": "/usr/bin/nvcc", "scratch": "/tmp/look"}
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    mounts = (f"--volume={SHIM}:/shim:ro", f"--volume={folder}:/ask:ro")
    argv = [engine, "run", "--rm", "--network=none", "--pull=never", *mounts, IMAGE]
    argv += ["python3", "-I", "/shim/look_compilers.py", "/ask/request.json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"no {IMAGE} with an interpreter and a toolkit: {done.stderr[-300:]}")
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def test_debians_toolkit_gets_debians_compiler(engine: str, tmp_path: Path) -> None:
    """The default gcc 14 is refused by name, the toolkit's own gcc 13 is taken, and nvcc agrees with both."""
    builder = builder_of(look(engine, tmp_path, "g++"))
    limits = limits_of(builder, cuda="12.4.1", torch="2.6.0", machine="x86_64")

    assert choose(builder, limits, Named()).cxx == "/usr/bin/cuda-g++"
    with pytest.raises(ConflictError) as caught:
        choose(builder, limits, Named(cxx="g++"))
    assert caught.value.reference == "host-compiler-refused"
    assert "unsupported GNU version" in builder.device.said
    assert builder_of(look(engine, tmp_path, "cuda-g++")).device.code == 0
