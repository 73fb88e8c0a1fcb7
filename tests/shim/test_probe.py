"""What the build environment really is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

PROBE = Path(__file__).parents[2] / "torchbuild" / "shim" / "probe.py"


def _probe(tmp_path: Path, *programs: str) -> dict[str, Any]:
    argv = [sys.executable, "-I", str(PROBE), *programs, str(tmp_path / "scratch")]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300)
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The probe of this interpreter with the machine's compilers."""
    return _probe(
        tmp_path_factory.mktemp("probe"), "/usr/bin/gcc", "/usr/bin/g++", "/usr/bin/env", "/bin/true"
    )


def test_the_interpreter_tells_what_it_is(seen: dict[str, Any]) -> None:
    """Version, ABI, path and headers come from the interpreter that runs, not from what it is called."""
    assert seen["version"] == ".".join(str(part) for part in sys.version_info[:3])
    assert seen["executable"] == sys.executable
    assert seen["base_executable"] == str(Path(sys.executable).resolve())
    assert seen["soabi"].startswith(f"cpython-{sys.version_info[0]}{sys.version_info[1]}")
    assert seen["python_h"] is Path(seen["include"], "Python.h").is_file()


def test_what_is_installed_is_told_by_its_one_name(seen: dict[str, Any]) -> None:
    """Distributions are named as locks name them, whatever their own files say."""
    names = seen["distributions"]

    assert names["packaging"] == version("packaging")
    assert names["typing-extensions"] == version("typing_extensions")
    assert names["gitpython"] == version("GitPython")
    assert not [name for name in names if name != name.lower() or "_" in name or "." in name]


def test_a_compiler_is_tried(seen: dict[str, Any]) -> None:
    """A compiler counts as good when it compiled, linked and the program ran."""
    assert seen["compiles"] == ""
    assert "g++" in seen["cxx"]
    assert "gcc" in seen["cc"]


def test_the_files_that_decide_are_named(seen: dict[str, Any]) -> None:
    """The interpreter, the drivers and what they start: where one of them is another file, so is the build."""
    files = seen["files"]

    assert {os.path.realpath(sys.executable), "/usr/bin/gcc", "/usr/bin/g++"} <= set(files)
    assert {"cc1", "cc1plus"} <= {Path(path).name for path in files}
    assert all(Path(path).is_absolute() and Path(path).is_file() for path in files)
    assert files == sorted(set(files))


def test_an_interpreter_with_a_library_is_its_library_too(seen: dict[str, Any]) -> None:
    """The program may stay the same while the interpreter behind it is another one."""
    shared = sysconfig.get_config_var("Py_ENABLE_SHARED")
    library = Path(str(sysconfig.get_config_var("LIBDIR")), str(sysconfig.get_config_var("INSTSONAME")))

    assert (str(library) in seen["files"]) is bool(shared and library.is_file())


@pytest.mark.parametrize(
    ("cxx", "said"),
    [("/nonexistent/g++", "exit code 127"), ("/bin/false", "exit code 1"), ("/bin/true", "exit code 127")],
    ids=["missing", "fails", "makes nothing"],
)
def test_a_compiler_that_is_none_is_told(tmp_path: Path, cxx: str, said: str) -> None:
    """A compiler that is missing, fails or makes nothing is reported in words, and the probe itself succeeds."""
    seen = _probe(tmp_path, "/usr/bin/gcc", cxx, "/nonexistent/cmake", "/nonexistent/ninja")

    assert said in seen["compiles"]
    assert (seen["cmake"], seen["ninja"]) == ("", "")


def test_a_c_compiler_is_tried_as_well(tmp_path: Path) -> None:
    """A build needs both: one that is missing is told before an hour is spent, whatever the other one can."""
    seen = _probe(tmp_path, "/nonexistent/gcc", "/usr/bin/g++", "/nonexistent/cmake", "/nonexistent/ninja")

    assert seen["compiles"].startswith("gcc: exit code 127")
    assert seen["cc"] == ""
    assert "/nonexistent/gcc" not in seen["files"]


def test_what_stands_before_compilers_and_make_is_laid(tmp_path: Path) -> None:
    """With a place for it the probe lays a launcher and our make, with the build's own compiler and interpreter."""
    bin_dir, shim = tmp_path / "venv" / "bin", tmp_path / "shim"
    bin_dir.mkdir(parents=True)
    shim.mkdir()
    (shim / "torchbuild_shim").symlink_to(PROBE.parent)
    argv = [sys.executable, "-m", "venv", "--without-pip", str(bin_dir.parent)]
    subprocess.run(argv, check=True)

    programs = ("/usr/bin/gcc", "/usr/bin/g++", "/usr/bin/env", "/bin/true", str(tmp_path / "scratch"))
    argv = [str(bin_dir / "python"), "-I", str(PROBE), *programs, str(shim)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300)

    assert json.loads(done.stdout)["launcher"] == ""
    assert subprocess.run([shim / "launch", "sh", "-c", "exit 4"], check=False).returncode == 4
    said = subprocess.run([bin_dir / "make", "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith("GNU Make ")
