"""What an interpreter is to a build, in one short start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.standalone import BUILT_AT, laid

LOOK = Path(__file__).parents[2] / "torchbuild" / "shim" / "look_interpreter.py"
BASE = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]


def look(program: str | Path) -> dict[str, Any]:
    """Run the script by an interpreter."""
    done = subprocess.run(
        [program, "-I", LOOK], capture_output=True, text=True, check=True, timeout=60, env={"PATH": "/bin"}
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the records of a few packages."""
    place = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python3*/site-packages")
    for name in ("numpy-2.1.3", "nvidia_nccl_cu12-2.21.5", "nvidia_nccl_cu13-2.27.7", "NumPyro-0.1"):
        (packages / f"{name}.dist-info").mkdir()
    return place


def test_an_interpreter_is_told_as_it_is() -> None:
    """Version, headers, machine, and the interpreter itself."""
    seen = look(BASE)
    include = sysconfig.get_path("include")

    assert seen["version"] == ".".join(str(part) for part in sys.version_info[:3])
    assert (seen["is_venv"], seen["base"], seen["machine"]) == (False, BASE, os.uname().machine)
    assert seen["include"] == (include if Path(include, "Python.h").is_file() else "")
    assert (seen["is_free_threaded"], seen["gone"]) == (False, [])


def test_of_an_environment_the_interpreter_behind_it_is_told(environment: Path) -> None:
    """And what is installed in the environment, by its records: nothing is imported."""
    seen = look(environment / "bin" / "python")

    assert (seen["is_venv"], seen["base"]) == (True, BASE)
    assert seen["numpy"] == "2.1.3"
    assert seen["nccls"] == ["nvidia-nccl-cu12 2.21.5", "nvidia-nccl-cu13 2.27.7"]


def test_an_interpreter_that_was_moved_tells_where_it_is_not(tmp_path: Path) -> None:
    """One that still names the machine where it was made would break a link much later."""
    moved = laid(tmp_path / "python")

    assert look(moved / "bin" / "python3")["gone"] == [f"{BUILT_AT}/lib"]
