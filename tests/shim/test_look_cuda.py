"""What a toolkit really is; the stand-in is one of scripts, and its host compiler is real."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.toolchains.stand_in_toolkit import GXX, Toolkit, laid

SCRIPT = Path(__file__).parents[2] / "torchbuild" / "shim" / "look_cuda.py"


def look(prefix: Path, **other: Any) -> dict[str, Any]:
    """Run the script as a build does."""
    request = {
        "prefix": str(prefix),
        "cxx": GXX,
        "standard": "17",
        "archs": ["7.5", "9.0a"],
        "environment": {"PATH": f"{prefix}/bin:/usr/bin:/bin", "CUDA_HOME": str(prefix)},
        "scratch": str(prefix.parent / "scratch"),
    }
    path = prefix.parent / "request.json"
    path.write_text(json.dumps(request | other), encoding="utf-8")
    argv = [sys.executable, "-I", str(SCRIPT), str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300)
    (line,) = done.stdout.splitlines()
    seen: dict[str, Any] = json.loads(line)
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A toolkit as it should be."""
    return look(laid(tmp_path_factory.mktemp("good") / "cuda"))


def test_each_program_is_started_and_asked(seen: dict[str, Any]) -> None:
    """One of them, cicc, names no release: the PTX that it makes does."""
    programs = seen["programs"]

    assert sorted(programs) == ["cicc", "cudafe++", "fatbinary", "nvcc", "nvlink", "ptxas"]
    assert {row["build"] for row in programs.values()} == {"13.0.88"}
    assert all(row["starts"] for row in programs.values())
    assert programs["cicc"]["path"].endswith("/nvvm/bin/cicc")
    assert programs["cicc"]["ptx"] == "9.0"


def test_the_headers_are_read(seen: dict[str, Any]) -> None:
    """Both headers that carry a release."""
    assert {Path(path).name: release for path, release in seen["headers"].items()} == {
        "cuda.h": "13.0",
        "cuda_runtime_api.h": "13.0",
    }
    assert seen["version_json"]["ours"] is True


def test_the_probe_is_compiled_linked_and_started(seen: dict[str, Any]) -> None:
    """A program runs and prints; one that calls the driver needs it by its name, and keeps no path to the stub."""
    assert seen["probe"]["compiled"]["code"] == 0
    assert "no CUDA-capable device" in seen["probe"]["started"]["said"]
    assert "libcuda.so.1" in seen["driver"]["dynamic"]["needed"]
    assert seen["driver"]["dynamic"]["run_paths"] == []
    assert {name: done["code"] for name, done in seen["archs"].items()} == {"7.5": 0, "9.0a": 0}
    assert set(seen["seconds"]) == {"probe", "start", "driver", "arch 7.5", "arch 9.0a"}


def test_what_nvcc_can_is_listed(seen: dict[str, Any]) -> None:
    """The lists leave suffixes out; the help has them."""
    assert seen["lists"]["codes"] == ["sm_120", "sm_75", "sm_90"]
    assert {"sm_90a", "compute_120f"} <= set(seen["lists"]["accepted"])


def test_a_mixed_toolkit_shows_itself(tmp_path: Path) -> None:
    """A newer cicc writes PTX that an older ptxas does not understand: both say what they are."""
    seen = look(laid(tmp_path / "cuda", Toolkit().but(cicc="13.5.37")))

    assert seen["programs"]["cicc"]["build"] == "13.5.37"
    assert seen["programs"]["ptxas"]["build"] == "13.0.88"
    assert "Unsupported .version 9.5" in seen["probe"]["compiled"]["said"]
    assert seen["probe"]["started"] == {}


def test_a_program_that_cannot_be_loaded_does_not_start(tmp_path: Path) -> None:
    """A loader's complaint is not a word of the program."""
    said = "nvlink: error while loading shared libraries: libx.so.1: cannot open shared object file"
    seen = look(laid(tmp_path / "cuda", Toolkit(broken={"nvlink": said})))

    assert seen["programs"]["nvlink"]["starts"] is False
    assert "libx.so.1" in seen["programs"]["nvlink"]["said"]


def test_nothing_there_is_no_crash(tmp_path: Path) -> None:
    """The judge judges."""
    seen = look(tmp_path / "nothing")

    assert [row["path"] for name, row in seen["programs"].items() if name != "nvcc"].count("") >= 1
    assert seen["headers"] == {}
    assert "probe" not in seen


def test_another_nvcc_before_ours_is_named(tmp_path: Path) -> None:
    """In order, however often; one that is ours under another name is none."""
    prefix = laid(tmp_path / "cuda")
    for name in ("old", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nvcc").write_text("#!/bin/sh\n")
        (tmp_path / name / "nvcc").chmod(0o755)
    (tmp_path / "same").symlink_to(prefix / "bin")
    path = f"{tmp_path}/empty:{tmp_path}/old:{tmp_path}/same:{tmp_path}/other:/usr/bin:/bin"

    seen = look(prefix, environment={"PATH": path}, archs=[])

    assert seen["before"] == [f"{tmp_path}/old/nvcc"]


def test_names_are_told_without_links(tmp_path: Path) -> None:
    """A link beside the toolkit is another path to the same."""
    prefix = laid(tmp_path / "cuda-13.0")
    (tmp_path / "cuda").symlink_to(prefix)
    environment = {
        "PATH": "/usr/bin:/bin",
        "CUDA_HOME": str(tmp_path / "cuda"),
        "CUDA_PATH": "/nonexistent/x",
    }

    seen = look(tmp_path / "cuda", environment=environment, brief=False, archs=[])

    assert seen["real"] == str(prefix)
    assert seen["names"]["CUDA_HOME"] == {"given": str(tmp_path / "cuda"), "real": str(prefix)}
    assert seen["names"]["CUDA_PATH"]["real"] == ""


def test_a_run_path_is_read(tmp_path: Path) -> None:
    """Whoever adds one leaves the stub's path in programs."""
    prefix = tmp_path / "cuda"
    wrong = replace(Toolkit(), links=(f"-Wl,-rpath,{prefix}/lib64/stubs",))

    seen = look(laid(prefix, wrong), archs=[])

    assert seen["driver"]["dynamic"]["run_paths"] == [f"{prefix}/lib64/stubs"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cuda": 3}', '{"cuda": {}}', "\xff\x00"])
def test_a_version_json_that_is_none_says_nothing(tmp_path: Path, text: str) -> None:
    """A file of a stranger."""
    prefix = laid(tmp_path / "cuda", Toolkit(is_complete=False))
    (prefix / "version.json").write_bytes(text.encode("latin-1"))

    assert look(prefix, archs=[])["version_json"]["release"] == ""


def test_before_there_is_a_lock_only_the_release_is_asked(tmp_path: Path) -> None:
    """The survey of a builder takes a second."""
    prefix = laid(tmp_path / "cuda")

    seen = look(prefix, brief=True)

    assert set(seen) == {"real", "nvcc"}
    assert seen["nvcc"]["release"] == "13.0"


def test_old_extensions_and_thrust_are_looked_for(tmp_path: Path) -> None:
    """What trees of some age ask for."""
    prefix = laid(tmp_path / "cuda", replace(Toolkit(), thrust="include"))
    (prefix / "lib/libnvToolsExt.so.1").write_bytes(b"")
    (prefix / "lib/libnvToolsExt.so").symlink_to("libnvToolsExt.so.1")

    libraries = look(prefix, archs=[])["libraries"]

    assert libraries["nvToolsExt"].endswith("libnvToolsExt.so")
    assert libraries["thrust"] == str(prefix / "include")


def test_without_a_host_compiler_the_programs_are_asked_all_the_same(tmp_path: Path) -> None:
    """What nvcc cannot compile is told in its words; nothing is missing that is there."""
    seen = look(laid(tmp_path / "cuda"), cxx="/nonexistent/g++", archs=["7.5"])

    assert {row["build"] for row in seen["programs"].values()} == {"13.0.88"}
    assert seen["probe"]["compiled"]["code"] != 0
    assert "/nonexistent/g++" in seen["probe"]["compiled"]["said"]
    assert seen["archs"]["7.5"]["code"] != 0


def test_a_name_with_odd_characters_is_told(tmp_path: Path) -> None:
    """An environment is not ours: what cannot be handed to a program is said, not raised."""
    seen = look(
        laid(tmp_path / "cuda"), environment={"PATH": "/usr/bin:/bin", "CUDA_HOME": "a\x00b"}, archs=[]
    )

    assert seen["programs"]["nvcc"]["starts"] is False
