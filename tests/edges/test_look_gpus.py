"""GPUs as the driver's own library tells of them; the same of a real driver and of one that was compiled here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.edges.nvml_stand_in import compiled

LOOK = Path(__file__).parents[2] / "torchbuild" / "edges" / "look_gpus.py"


def look(folder: Path | None) -> dict[str, Any]:
    """Run the script; where a folder is given, its library comes first."""
    variables = {"LD_LIBRARY_PATH": str(folder)} if folder else {}
    done = subprocess.run(
        [sys.executable, "-I", str(LOOK)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=variables,
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.fixture(params=["stand-in", "real"])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """What a driver tells that works."""
    if request.param == "real":
        if not Path("/dev/nvidiactl").exists():
            pytest.skip("this machine has no NVIDIA driver: the contract holds for the stand-in alone")
        return look(None)
    compiled(tmp_path)
    return look(tmp_path)


def test_a_driver_tells_its_version_and_its_gpus(driver: dict[str, Any]) -> None:
    """Driver, its CUDA, and of each GPU name, capability, memory and a number of its own."""
    assert driver["failed"] == []
    assert driver["driver"].split(".")[0].isdigit()
    assert driver["cuda"] >= 10000
    assert all(gpu["name"] and gpu["uuid"].startswith("GPU-") for gpu in driver["gpus"])
    assert all(gpu["capability"] >= 30 and gpu["memory"] > 1 << 30 for gpu in driver["gpus"])


def test_the_stand_in_is_told_word_for_word(tmp_path: Path) -> None:
    """A capability is one number, memory is in bytes."""
    compiled(tmp_path)

    assert look(tmp_path) == {
        "driver": "535.129.03",
        "cuda": 12020,
        "failed": [],
        "gpus": [
            {
                "name": "NVIDIA GeForce GTX 1080 Ti",
                "uuid": "GPU-1",
                "capability": 61,
                "memory": 11721179136,
            },
            {"name": "NVIDIA H100 PCIe", "uuid": "GPU-2", "capability": 90, "memory": 85520809984},
        ],
    }


def test_a_lost_gpu_takes_no_other_with_it(tmp_path: Path) -> None:
    """The one that fell off the bus is told as such."""
    compiled(tmp_path, "LOST=0")
    seen = look(tmp_path)

    assert [gpu["uuid"] for gpu in seen["gpus"]] == ["GPU-2"]
    assert seen["failed"] == ["GPU 0: GPU is lost"]


def test_a_library_that_does_not_fit_the_kernel_is_told(tmp_path: Path) -> None:
    """After an upgrade without a restart nothing else can be asked."""
    compiled(tmp_path, "INIT=18")

    assert look(tmp_path) == {
        "driver": "",
        "cuda": 0,
        "gpus": [],
        "failed": ["nvmlInit: RM has detected an NVML/RM version mismatch."],
    }


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a driver")
def test_without_a_library_that_is_said() -> None:
    """A machine without a driver is no failure."""
    seen = look(None)

    assert (seen["gpus"], len(seen["failed"])) == ([], 1)
