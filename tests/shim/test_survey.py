"""What a builder has to offer."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

SURVEY = Path(__file__).parents[2] / "torchbuild" / "shim" / "survey.py"


def _survey(*asked: str, program: str = sys.executable) -> dict[str, str]:
    argv = [program, "-I", str(SURVEY), *asked]
    environ = {"PATH": "/nonexistent", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environ, timeout=60)
    seen: dict[str, str] = json.loads(done.stdout)
    return seen


def test_the_builder_is_told() -> None:
    """Interpreter, C library and compilers are what the builder has, links resolved."""
    seen = _survey("gcc", "g++", "none")

    assert seen["executable"] == os.path.realpath(sys.executable)
    assert seen["version"] == platform.python_version()
    assert seen["glibc"] == platform.libc_ver()[1]
    assert seen["machine"] == platform.machine()
    assert seen["launcher"] == ""
    assert seen["venv"] == "yes"
    assert (seen["cc"], seen["cxx"]) == ("/usr/bin/gcc", "/usr/bin/g++")
    assert seen["compiler"].startswith("g++")
    assert seen["compiler_c"].startswith("gcc")


@pytest.mark.parametrize("how", ["--copies", "--symlinks"])
def test_of_a_virtual_environment_the_interpreter_behind_it_is_told(tmp_path: Path, how: str) -> None:
    """An environment can be removed at any time; what it was made from is what builds. One in another too."""
    base = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]
    for program, name in ((base, "one"), (f"{tmp_path}/one/bin/python", "two")):
        argv = [program, "-m", "venv", "--without-pip", how, str(tmp_path / name)]
        subprocess.run(argv, check=True, timeout=120)

        assert _survey("gcc", "g++", "none", program=f"{tmp_path}/{name}/bin/python")["executable"] == base


def test_the_tag_is_the_interpreters() -> None:
    """The wheel's Python tag is told without what belongs to the ABI tag."""
    assert _survey("gcc", "g++", "none")["tag"] == f"cp{sys.version_info[0]}{sys.version_info[1]}"


@pytest.mark.parametrize("program", ["no-such-compiler", "/nonexistent/cc", "/etc/passwd", "/tmp"])
def test_what_is_missing_is_empty(program: str) -> None:
    """A program that is not there, or is none, is the empty text; the survey itself does not fail."""
    seen = _survey(program, program, program)

    assert (seen["cc"], seen["cxx"], seen["launcher"], seen["compiler"]) == ("", "", "", "")


def test_a_compiler_that_does_not_say_what_it_is_is_no_crash(tmp_path: Path) -> None:
    """A program without a version is found, and its word is empty."""
    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    mute.chmod(0o755)

    seen = _survey(str(mute), str(mute), str(mute))

    assert (seen["cxx"], seen["compiler"], seen["launcher"]) == (str(mute), "", str(mute))


def test_the_callers_path_does_not_count() -> None:
    """Programs are looked for where a build will look for them."""
    assert _survey("env", "sh", "none")["cc"] in {"/usr/bin/env", "/bin/env"}


def test_a_cache_is_told_with_its_version_where_one_is_there() -> None:
    """``auto`` takes ccache first, else sccache, else none; what is not there is not told."""
    seen = {asked: _survey("gcc", "g++", asked) for asked in ("none", "auto", "ccache", "no-such-cache")}

    assert seen["none"]["launcher"] == seen["none"]["launcher_version"] == ""
    assert seen["no-such-cache"]["launcher"] == ""
    assert seen["auto"]["launcher"] == seen["ccache"]["launcher"] or not seen["ccache"]["launcher"]
    assert ("ccache" in seen["auto"]["launcher_version"]) == bool(seen["auto"]["launcher"])
