"""What cuobjdump lists, asked inside a builder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LOOK = Path(__file__).parents[2] / "torchbuild" / "shim" / "look_gpu_code.py"
DATA = Path(__file__).parents[1] / "data" / "gpu_code"
SAID = json.loads((DATA / "cuobjdump.json").read_text(encoding="utf-8"))


def look(tmp_path: Path, cuobjdump: str, *files: str) -> dict[str, Any]:
    """The answer of the script, started as a stage starts it."""
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"cuobjdump": cuobjdump, "files": files}))
    argv = [sys.executable, "-I", str(LOOK), str(request)]
    environ = {"PATH": str(tmp_path)}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, env=environ)
    assert done.stdout.count("\n") == 1
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def tool(tmp_path: Path, body: str) -> str:
    """A cuobjdump that says what a case wants."""
    path = tmp_path / "cuobjdump"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def real(tmp_path: Path) -> str:
    """Says what the real one said of the files among the data."""
    for name, text in SAID.items():
        (tmp_path / f"{name}.txt").write_text(text.replace("/" + name, f"{tmp_path}/{name}"))
    return tool(tmp_path, f'exec /bin/cat "$3.txt" # {tmp_path}')


def test_entries_are_counted(tmp_path: Path, real: str) -> None:
    """Machine code and PTX, with the suffix where there is one; twice the same counts twice."""
    plain, own, library = (
        str(tmp_path / name) for name in ("13.0-plain.o", "12.4-own-chip.o", "13.0-library.so")
    )

    assert look(tmp_path, real, plain, own, library) == {
        plain: {"members": {"": {"sm_75": 1, "sm_90": 1, "compute_90": 1}}},
        own: {"members": {"": {"sm_90a": 1, "compute_90a": 1}}},
        library: {"members": {"": {"sm_75": 2, "sm_90": 2, "compute_90": 2}}},
    }


def test_a_static_library_is_told_member_by_member(tmp_path: Path, real: str) -> None:
    """By the member's own name."""
    path = str(tmp_path / "12.4-to-link.a")
    one = {"sm_75": 1, "sm_90": 1, "compute_90": 1}

    assert look(tmp_path, real, path)[path] == {
        "members": {"12.4-to-link-one.o": one, "12.4-to-link-two.o": one}
    }


def test_a_file_without_device_code_has_none(tmp_path: Path) -> None:
    """Cuobjdump ends with 255 there, and means no error."""
    program = tool(tmp_path, "echo \"cuobjdump info    : File '$3' does not contain device code\"; exit 255")

    assert look(tmp_path, program, "/x.o") == {"/x.o": {"members": {}}}


def test_what_cuobjdump_cannot_read_is_not_run(tmp_path: Path) -> None:
    """A newer one does not list code of chips that it has forgotten: no list is no empty list."""
    program = tool(tmp_path, 'echo "ELF file    1: x.1.sm_50.cubin"; echo "fatal: Invalid ELF" >&2; exit 1')

    assert look(tmp_path, program, "/x.o")["/x.o"]["not_run"].startswith("exit code 1: ELF file")


@pytest.mark.parametrize("program", ["", "/nowhere/cuobjdump"])
def test_without_cuobjdump_nothing_is_run(tmp_path: Path, program: str) -> None:
    """And the reason is there for the check to tell."""
    assert "cuobjdump" in look(tmp_path, program, "/x.o")["/x.o"]["not_run"]


def test_the_one_on_the_path_is_taken(tmp_path: Path) -> None:
    """Where none is named."""
    tool(tmp_path, 'echo "PTX file    1: x.1.sm_90a.ptx"')

    assert look(tmp_path, "", "/x.o") == {"/x.o": {"members": {"": {"compute_90a": 1}}}}
