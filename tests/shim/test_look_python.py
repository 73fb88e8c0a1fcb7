"""What an interpreter is to those who build for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.standalone import BUILT_AT, MAJOR_MINOR, VERSION, laid

LOOK = Path(__file__).parents[2] / "torchbuild" / "shim" / "look_python.py"
BASE = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]


def look(tmp_path: Path, program: str, executable: str = "", cc: str = "/usr/bin/gcc") -> dict[str, Any]:
    """Run the script by an interpreter, as a build does."""
    request = tmp_path / "request.json"
    asked = {"executable": executable or program, "cc": cc, "scratch": str(tmp_path / "scratch")}
    request.write_text(json.dumps(asked))
    argv = [program, "-I", str(LOOK), str(request)]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, timeout=300, env={"PATH": "/usr/bin:/bin"}
    )
    assert len(done.stdout.splitlines()) == 1
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.fixture(scope="module")
def unmoved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that was unpacked and not told where it is."""
    return laid(tmp_path_factory.mktemp("unmoved") / "python")


def test_a_whole_interpreter_is_told_as_it_is(tmp_path: Path) -> None:
    """Version, ABI, bits, headers; and a module for it is compiled and imported."""
    seen = look(tmp_path, BASE)

    assert (seen["version"], seen["executable"], seen["kind"]) == (VERSION, BASE, "program")
    assert seen["soabi"] == sysconfig.get_config_var("SOABI")
    assert (seen["bits"], seen["machine"], seen["free_threaded"]) == (64, os.uname().machine, "no")
    assert seen["headers"] is Path(sysconfig.get_path("include"), "Python.h").is_file()
    if seen["headers"]:
        assert seen["extension"] == ""


def test_of_a_virtual_environment_the_interpreter_behind_it_is_told(tmp_path: Path) -> None:
    """One in another one too, made with links or by copying."""
    first, second = tmp_path / "one", tmp_path / "two"
    subprocess.run([BASE, "-m", "venv", "--without-pip", "--copies", str(first)], check=True, timeout=120)
    subprocess.run(
        [f"{first}/bin/python", "-m", "venv", "--without-pip", str(second)], check=True, timeout=120
    )

    seen = look(tmp_path, f"{second}/bin/python")

    assert (seen["executable"], seen["is_venv"]) == (BASE, True)


def test_a_shim_is_told_from_a_program(tmp_path: Path) -> None:
    """A script that starts an interpreter is none; what is recorded is what it started."""
    shim = tmp_path / "python"
    shim.write_text(f'#!/bin/sh\nexec {BASE} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)

    seen = look(tmp_path, str(shim))

    assert (seen["kind"], seen["executable"]) == ("script", BASE)


def test_the_paths_of_its_builder_are_told(tmp_path: Path, unmoved: Path) -> None:
    """Each option that leads to nothing by its variable, and the directory that is not there."""
    seen = look(tmp_path, f"{unmoved}/bin/python{MAJOR_MINOR}")

    assert f"-L{BUILT_AT}/lib" in seen["gone"]["LDFLAGS"]
    assert "-isystem /tools/include" in seen["gone"]["CFLAGS"]
    assert (seen["libdir"], seen["libdir_found"], seen["library_found"]) == (f"{BUILT_AT}/lib", False, False)
    assert seen["tools_missing"]["CC"] == "clang-of-the-builder"
    assert "-fdebug-default-version=4" in seen["extension"]


@pytest.mark.parametrize("cc", ["/nonexistent/gcc", "/bin/false", "/bin/true"])
def test_a_compiler_that_makes_no_module_is_told(tmp_path: Path, cc: str) -> None:
    """The script itself succeeds, whatever is missing."""
    assert look(tmp_path, BASE, cc=cc)["extension"] != ""


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Nothing can be compiled there, and the rest is told nevertheless."""
    (tmp_path / "scratch").write_text("a file")

    seen = look(tmp_path, BASE)

    assert "scratch" in seen["extension"]
    assert seen["version"] == VERSION


def test_a_path_that_is_nothing_is_told(tmp_path: Path) -> None:
    """The lock may name an interpreter that is gone."""
    assert look(tmp_path, BASE, executable="/nonexistent/python")["kind"] == ""
