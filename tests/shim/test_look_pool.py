"""Machines that are asked to compile before a build: those that compile as this one does, and the others."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchbuild.compile_pool import START
from torchbuild.shim import look_pool

CC, CXX = shutil.which("cc"), shutil.which("c++")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Stands before a compiler; what the machine does is the variable's value."""
    place = tmp_path / "away"
    place.write_text(
        "#!/bin/sh\n"
        'case "$WHERE" in\n'
        '  good) exec "$@" ;;\n'
        '  other) exec "$@" -O0 ;;\n'
        '  dumb) exec "$@" -fno-ident ;;\n'
        "  *) echo away: connection refused; exit 116 ;;\n"
        "esac\n",
        encoding="utf-8",
    )
    place.chmod(0o755)
    return place


def asked(program: Path | str, *hosts: str, cxx: str = str(CXX)) -> dict[str, Any]:
    """A request; a machine's name is what it does."""
    named = [{"name": host, "spec": host} for host in hosts]
    return {
        "program": str(program),
        "environ": {},
        "variable": "WHERE",
        "hosts": named,
        "compilers": [str(CC), cxx],
    }


def test_only_a_machine_with_the_same_objects_is_the_same(program: Path) -> None:
    """Another compiler, the same one with other settings, and one that is gone are told apart."""
    seen = look_pool.look(asked(program, "good", "other", "dumb", "gone"))

    assert seen["program"] == ""
    assert {name: row["outcome"] for name, row in seen["hosts"].items()} == {
        "good": "same",
        "other": "differs",
        "dumb": "differs",
        "gone": "silent",
    }


def test_both_compilers_are_named(program: Path) -> None:
    """Who reads it knows what to install, and where."""
    hosts = look_pool.look(asked(program, "good", "dumb", "gone"))["hosts"]

    assert hosts["good"]["own"] == hosts["good"]["seen"] != ""
    assert hosts["dumb"]["own"] == hosts["good"]["own"]
    assert hosts["dumb"]["seen"] == "a compiler that does not say what it is"
    assert hosts["gone"]["seen"] == "exit code 116: away: connection refused"


def test_a_builder_without_the_program_says_so() -> None:
    """Nothing is asked of anybody."""
    seen = look_pool.look(asked("/no/such/program", "good"))

    assert seen == {"program": "/no/such/program: not there, or no program", "hosts": {}}


def test_a_compiler_that_compiles_nothing_here_is_no_fault_of_the_machines(program: Path) -> None:
    """It would fail there too."""
    seen = look_pool.look(asked(program, "good", cxx="/bin/false"))

    assert "/bin/false compiles nothing here" in seen["program"]


def test_it_is_run_as_a_guest(program: Path, tmp_path: Path) -> None:
    """By an interpreter of the build, isolated: one JSON document."""
    request, shim = tmp_path / "request.json", tmp_path / "shim"
    shutil.copytree(Path(look_pool.__file__).parent, shim / "torchbuild_shim")
    request.write_text(json.dumps(asked(program, "good")), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-I", "-c", START, str(shim), str(request)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout)["hosts"]["good"]["outcome"] == "same"


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"\0GCC: (Debian 14.2.0-19) 14.2.0\0x", "GCC: (Debian 14.2.0-19) 14.2.0"),
        (b"\0Debian clang version 19.1.7\0", "Debian clang version 19.1.7"),
    ],
)
def test_an_object_says_who_compiled_it(content: bytes, wanted: str) -> None:
    """The machine's own word: its version is not asked for by another way."""
    assert look_pool.ident(content).endswith(wanted.removeprefix("Debian "))
