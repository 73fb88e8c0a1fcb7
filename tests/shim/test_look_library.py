"""What a library beside the toolkit really is, told by itself."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.toolchains.library_samples import compiled, guest, lay_nccl, ours
from torchbuild.toolchains.library_look import look_request


def look(prefix: Path, folder: Path, **more: Any) -> dict[str, Any]:
    """What is seen of an NCCL in a prefix; the toolkit is an empty folder."""
    (folder / "cuda").mkdir(exist_ok=True)
    part = ours("nccl", "2.21.5", str(prefix))
    places: dict[str, Any] = {
        "cuda_home": str(folder / "cuda"),
        "cxx": "/usr/bin/g++",
        "scratch": str(folder / "scratch"),
    }
    request = look_request(part, **(places | more))
    request["roots"] = [root for root in request["roots"] if root["path"] not in ("/usr", "/usr/local")]
    return guest("look_library.py", request, folder)


def test_header_library_and_program_tell_one_version(tmp_path: Path) -> None:
    """The header by its macros, the library by its function and its own words, a program by running."""
    seen = look(lay_nccl(tmp_path / "nccl"), tmp_path)

    library = seen["library"]
    assert seen["header"]["version"] == "2.21.5"
    assert (library["called"], library["said"], library["cuda"]) == ("2.21.5", "2.21.5", "12.4")
    assert library["soname"] == "libnccl.so.2"
    assert library["real"] == str(tmp_path / "nccl" / "lib" / "libnccl.so.2")
    assert (seen["program"]["header"], seen["program"]["library"]) == ("2.21.5", "2.21.5")
    assert (seen["others"], seen["distributions"]) == ([], [])


def test_a_header_of_another_release_is_seen(tmp_path: Path) -> None:
    """Both are told, by the macros and by the program."""
    seen = look(lay_nccl(tmp_path / "nccl", "2.21.5", "2.18.3"), tmp_path)

    assert (seen["header"]["version"], seen["library"]["called"]) == ("2.21.5", "2.18.3")
    assert (seen["program"]["header"], seen["program"]["library"]) == ("2.21.5", "2.18.3")


@pytest.mark.parametrize(
    ("code", "version"), [("22105", "2.21.5"), ("2708", "2.7.8"), ("8907", "8.9.7"), ("90100", "9.1.0")]
)
def test_numbers_of_old_and_new_releases(code: str, version: str, tmp_path: Path) -> None:
    """NCCL before 2.9 and cuDNN before 9 counted otherwise."""
    prefix = lay_nccl(tmp_path / "nccl")
    source = prefix / "nccl.c"
    source.write_text(f"int ncclGetVersion(int* version) {{ *version = {code}; return 0; }}\n")
    compiled(source, prefix / "lib" / "libnccl.so.2")

    assert look(prefix, tmp_path)["library"]["called"] == version


def test_other_copies_are_found(tmp_path: Path) -> None:
    """In the toolkit, in a prefix path, and in the Python environment, each with its version; ours is not one."""
    lay_nccl(tmp_path / "cuda", "2.18.3")
    lay_nccl(tmp_path / "mine", "2.7.8")
    wheel = tmp_path / "site" / "nvidia" / "nccl"
    lay_nccl(wheel, "2.29.3", link=False)
    (tmp_path / "again").symlink_to(tmp_path / "nccl")

    seen = look(
        lay_nccl(tmp_path / "nccl"),
        tmp_path,
        sites=[str(tmp_path / "site")],
        searched=[str(tmp_path / "mine"), str(tmp_path / "again")],
    )

    others = {(item["where"], Path(item["path"]).name): item["version"] for item in seen["others"]}
    assert others == {
        ("CMAKE_PREFIX_PATH", "nccl.h"): "2.7.8",
        ("CMAKE_PREFIX_PATH", "libnccl.so"): "",
        ("the build's Python environment", "nccl.h"): "2.29.3",
        ("the build's Python environment", "libnccl.so.2"): "",
        ("the toolkit", "nccl.h"): "2.18.3",
        ("the toolkit", "libnccl.so"): "",
    }


def test_distributions_of_one_library_are_counted(tmp_path: Path) -> None:
    """Those of this library alone, however their names are spelt."""
    for name in ("nvidia_nccl_cu12-2.29.3", "nvidia_nccl_cu13-2.29.7", "nvidia_cudnn_cu12-9.1.0.70"):
        (tmp_path / "site" / f"{name}.dist-info").mkdir(parents=True)

    seen = look(lay_nccl(tmp_path / "nccl"), tmp_path, sites=[str(tmp_path / "site"), "/nowhere"])

    assert seen["distributions"] == ["nvidia_nccl_cu12-2.29.3", "nvidia_nccl_cu13-2.29.7"]


def test_a_directory_under_the_librarys_name(tmp_path: Path) -> None:
    """It is told as what it is, and nothing is compiled with it."""
    prefix = lay_nccl(tmp_path / "nccl", link=False)
    (prefix / "lib" / "libnccl.so").mkdir()

    seen = look(prefix, tmp_path)

    assert seen["library"]["kind"] == "directory"
    assert "built" not in seen["program"]


@pytest.mark.parametrize(
    ("header", "library"),
    [
        (b"", b""),
        (b"#define NCCL_MAJOR 2\n", b"\x7fELF" + b"\0" * 60),
        (b"#define NCCL_MAJOR 99999999999999999999\n", b"no library"),
        (b"\xff\xfe" * 1000, b"INPUT(-lnccl)"),
    ],
)
def test_files_of_strangers_are_told_not_believed(header: bytes, library: bytes, tmp_path: Path) -> None:
    """No version, the reason why it could not be loaded, and no traceback."""
    prefix = lay_nccl(tmp_path / "nccl")
    (prefix / "include" / "nccl.h").write_bytes(header)
    (prefix / "lib" / "libnccl.so.2").write_bytes(library)

    seen = look(prefix, tmp_path)

    assert seen["header"]["version"] == ""
    assert seen["library"]["called"] == ""
    assert seen["library"]["why_not_called"]
    assert seen["program"]["built"] is False


def test_a_library_that_kills_its_caller_is_survived(tmp_path: Path) -> None:
    """It is called in a process of its own."""
    prefix = lay_nccl(tmp_path / "nccl")
    (prefix / "nccl.c").write_text("int ncclGetVersion(int* v) { return *(volatile int*)0; }\n")
    compiled(prefix / "nccl.c", prefix / "lib" / "libnccl.so.2")

    seen = look(prefix, tmp_path)

    assert seen["library"]["called"] == ""
    assert "exit code" in seen["library"]["why_not_called"]
    assert seen["program"]["exit"] != 0


def test_nothing_there(tmp_path: Path) -> None:
    """Missing is missing; a request that is none is told."""
    seen = look(tmp_path / "none", tmp_path)

    assert (seen["header"]["kind"], seen["library"]["kind"]) == ("missing", "missing")
    for hostile in ([], {"headers": 3}, {"name": None}):
        assert "error" in guest("look_library.py", hostile, tmp_path)  # type: ignore[arg-type]  # hostile


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_header(tmp_path: Path) -> None:
    """It is there, and cannot be read."""
    prefix = lay_nccl(tmp_path / "nccl")
    (prefix / "include" / "nccl.h").chmod(stat.S_IWUSR)

    assert look(prefix, tmp_path)["header"]["kind"] == "unreadable"
