"""Which compilers a builder has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LOOK = Path(__file__).parents[2] / "torchbuild" / "shim" / "look_compilers.py"
HEADER = "#if defined(__CUDACC__)\n#if __GNUC__ > {most}\n#error -- unsupported GNU version! made up\n#endif\n#endif\n"


def look(tmp_path: Path, **request: Any) -> dict[str, Any]:
    """What the script says."""
    asked = tmp_path / "request.json"
    asked.write_text(json.dumps({"scratch": str(tmp_path / "scratch")} | request), encoding="utf-8")
    environ = {"PATH": "/nonexistent", "LC_ALL": "C"}
    argv = [sys.executable, "-I", str(LOOK), str(asked)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environ, timeout=300)
    assert done.stdout.count("\n") == 1
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def toolkit(tmp_path: Path, text: str, where: str = "include") -> Path:
    """A prefix with a header."""
    header = tmp_path / "cuda" / where / "crt" / "host_config.h"
    header.parent.mkdir(parents=True)
    header.write_text(text, encoding="utf-8")
    return tmp_path / "cuda"


def program(path: Path, text: str) -> Path:
    """An executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def called(seen: dict[str, Any], name: str) -> dict[str, Any]:
    """The compiler of that name."""
    (found,) = [item for item in seen["compilers"] if name in item["names"]]
    assert isinstance(found, dict)
    return found


def test_a_compiler_is_told_whole(tmp_path: Path) -> None:
    """Version in full, as its own preprocessor has it, the C compiler of the same name, and that it works."""
    seen = look(tmp_path, cc="gcc", cxx="g++")
    found = called(seen, "/usr/bin/g++")
    wanted = subprocess.run(
        ["/usr/bin/g++", "-dumpfullversion", "-dumpversion"], capture_output=True, text=True, check=True
    ).stdout.strip()

    assert (seen["cxx"], seen["cc"]) == ("/usr/bin/g++", "/usr/bin/gcc")
    assert (found["kind"], found["version"]) == ("gcc", wanted)
    assert found["real"] == os.path.realpath("/usr/bin/g++")
    assert found["machine"] == seen["machine"] == os.uname().machine
    assert found["names"]["/usr/bin/g++"]["cc"] == "/usr/bin/gcc"
    assert found["names"]["/usr/bin/g++"]["says"].startswith("g++")
    assert (found["twin"]["kind"], found["twin"]["version"]) == ("gcc", wanted)
    assert (found["compiles"], found["header"]["code"], seen["device"]["code"]) == ("", -1, -1)
    assert seen["distribution"]["id"]


def test_names_of_one_file_are_one_compiler(tmp_path: Path) -> None:
    """A link is another name, not another compiler."""
    link = tmp_path / "cuda-g++"
    link.symlink_to("/usr/bin/g++")

    seen = look(tmp_path, cxx=str(link))

    assert {str(link), "/usr/bin/g++"} <= set(called(seen, str(link))["names"])


def test_a_cache_is_not_the_compiler_behind_it(tmp_path: Path) -> None:
    """Names that lead to a compiler cache are different compilers, though they are one file."""
    cache = program(tmp_path / "ccache", 'exec "/usr/bin/$(basename "$0")" "$@"')
    link = tmp_path / "g++"
    link.symlink_to(cache)

    found = called(look(tmp_path, cxx=str(link)), str(link))

    assert set(found["names"]) == {str(link)}
    assert (found["kind"], found["compiles"]) == ("gcc", "")


@pytest.mark.parametrize("where", ["include", f"targets/{os.uname().machine}-linux/include"])
@pytest.mark.parametrize(("most", "code"), [(999, 0), (3, 1)], ids=["allowed", "refused"])
def test_the_header_itself_is_asked(tmp_path: Path, where: str, most: int, code: int) -> None:
    """By the compiler's own preprocessor, wherever a release has its headers."""
    seen = look(tmp_path, cxx="g++", cuda=str(toolkit(tmp_path, HEADER.format(most=most), where)))
    found = called(seen, "/usr/bin/g++")

    assert found["header"]["code"] == code
    assert ("unsupported GNU version" in found["header"]["said"]) is bool(code)
    assert seen["host_config"]["path"].endswith(f"{where}/crt/host_config.h")


def test_of_the_header_only_conditions_are_told(tmp_path: Path) -> None:
    """What decides, and nothing of the rest; a condition in a comment is none."""
    text = "/* a notice\n#if __GNUC__ > 1\n*/\nint x;\n#define A 1\n" + HEADER.format(most=13)

    seen = look(tmp_path, cxx="g++", cuda=str(toolkit(tmp_path, text)))

    assert seen["host_config"]["directives"] == HEADER.format(most=13).strip()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exit 1", "does not start"),
        ('case "$*" in *-dM*) echo "#define __GNUC__ 13";; *) exit 3;; esac', "exit code 3"),
    ],
    ids=["nothing", "liar"],
)
def test_a_program_that_is_no_compiler_is_told(tmp_path: Path, text: str, said: str) -> None:
    """One that cannot start, and one that only claims to be a compiler."""
    liar = program(tmp_path / "g++-99", text)

    found = called(look(tmp_path, cxx=str(liar)), str(liar))

    assert said in found["compiles"]
    assert found["version"] == ""
    assert found["names"][str(liar)] == {"says": "", "cc": "", "cc_says": ""}


@pytest.mark.parametrize("name", ["no-such-compiler", "/nonexistent/g++", "/etc/passwd", "/tmp"])
def test_what_is_missing_is_empty(tmp_path: Path, name: str) -> None:
    """A compiler, a toolkit that is not there; the look itself does not fail."""
    seen = look(tmp_path, cc=name, cxx=name, cuda=name, nvcc=name)

    assert (seen["cc"], seen["cxx"], seen["host_config"]["path"], seen["device"]["code"]) == ("", "", "", -1)


def test_a_kernel_is_compiled_with_the_very_compiler(tmp_path: Path) -> None:
    """It gets the host compiler, the standard and the recipe's flags; how it ended is told."""
    nvcc = program(
        tmp_path / "nvcc",
        f'echo "$@" > {tmp_path}/asked; printf "a\\nx.h: error: no\\n  such\\n" >&2; exit 2',
    )

    seen = look(tmp_path, cxx="g++", nvcc=str(nvcc), standard="20", flags=["-allow-unsupported-compiler"])

    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert asked.startswith("-ccbin /usr/bin/g++ -std=c++20 -allow-unsupported-compiler -c")
    assert seen["device"] == {"code": 2, "said": "x.h: error: no such", "cxx": "/usr/bin/g++"}


def test_a_program_that_floods_is_stopped(tmp_path: Path) -> None:
    """What is read of it is bounded, on disk too."""
    flood = program(tmp_path / "g++-99", "exec yes '#define __GNUC__ 13'")

    found = called(look(tmp_path, cxx=str(flood)), str(flood))

    assert found["compiles"] == "does not start"
    assert len(json.dumps(found)) < 5000


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Then nothing was compiled, and that is not the compiler's fault: the words say whose."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    seen = look(tmp_path, cxx="g++", nvcc="/bin/true", scratch=str(tmp_path / "file"))

    assert "exists" in called(seen, "/usr/bin/g++")["compiles"]
    assert seen["device"]["code"] == 127


@pytest.mark.parametrize("version", ["3.8"])
def test_an_old_interpreter_runs_it(tmp_path: Path, version: str) -> None:
    """A builder's interpreter may be as old as the oldest release that is built."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} here")
    asked = tmp_path / "request.json"
    asked.write_text(json.dumps({"scratch": str(tmp_path / "s"), "cxx": "g++"}), encoding="utf-8")

    done = subprocess.run([found[0], "-I", str(LOOK), str(asked)], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout)["cxx"] == "/usr/bin/g++"
