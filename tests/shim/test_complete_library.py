"""What a publisher leaves to an installer is made: links, and bits of programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolchains.library_samples import guest


def test_a_wheels_library_gets_its_unversioned_link(tmp_path: Path) -> None:
    """A wheel brings libnccl.so.2 only, and CMake looks for libnccl.so; the second time nothing is left to do."""
    prefix = tmp_path / "part"
    (prefix / "lib").mkdir(parents=True)
    for name in (
        "libnccl.so.2",
        "libcudnn.so.9",
        "libcudnn.so.9.1.0",
        "nvshmem_bootstrap_mpi.so.3",
        "libx.a",
    ):
        (prefix / "lib" / name).write_bytes(b"\x7fELF")
    request = {"prefix": str(prefix), "folders": ["lib"], "programs": [], "lib64": True}

    done = guest("complete_library.py", request, tmp_path)

    assert done == {"links": ["lib/libcudnn.so", "lib/libnccl.so", "lib64"], "programs": [], "errors": []}
    assert (prefix / "lib" / "libnccl.so").readlink() == Path("libnccl.so.2")
    assert (prefix / "lib" / "libcudnn.so").readlink() == Path("libcudnn.so.9")
    assert (prefix / "lib64" / "libnccl.so").is_file()
    assert guest("complete_library.py", request, tmp_path) == {"links": [], "programs": [], "errors": []}


def test_what_is_there_stays(tmp_path: Path) -> None:
    """A library under its own name, and even a link that leads nowhere, is the publisher's word."""
    lib = tmp_path / "part" / "lib"
    lib.mkdir(parents=True)
    (lib / "libnccl.so.2").write_bytes(b"\x7fELF")
    (lib / "libnccl.so").symlink_to("libnccl.so.1")

    done = guest("complete_library.py", {"prefix": str(lib.parent), "folders": ["lib"]}, tmp_path)

    assert done["links"] == []
    assert (lib / "libnccl.so").readlink() == Path("libnccl.so.1")


def test_programs_can_be_started(tmp_path: Path) -> None:
    """Archives lose the bit; data beside programs does not get it, nor what a link leads to."""
    programs = tmp_path / "part" / "bin"
    programs.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.write_bytes(b"#!/bin/sh\n")
    for name, content in (("ncclras", b"\x7fELF\x02"), ("run.sh", b"#!/bin/sh\n"), ("notes", b"text")):
        (programs / name).write_bytes(content)
        (programs / name).chmod(0o644)
    (programs / "away").symlink_to(outside)
    outside.chmod(0o600)

    done = guest("complete_library.py", {"prefix": str(programs.parent), "programs": ["bin"]}, tmp_path)

    assert done["programs"] == ["bin/ncclras", "bin/run.sh"]
    assert [(programs / name).stat().st_mode & 0o111 for name in ("ncclras", "notes")] == [0o111, 0]
    assert outside.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("folder", ["../outside", "/etc", "lib/../../outside", "nothing"])
def test_nothing_is_made_outside_the_prefix(folder: str, tmp_path: Path) -> None:
    """A request's folders stay below the prefix, and one that is not there is no error."""
    (tmp_path / "part").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "libx.so.1").write_bytes(b"")

    done = guest("complete_library.py", {"prefix": str(tmp_path / "part"), "folders": [folder]}, tmp_path)

    assert done == {"links": [], "programs": [], "errors": []}


@pytest.mark.parametrize(
    "request_", [{}, {"prefix": 3, "folders": 5}, [], "x", {"prefix": "/nowhere", "folders": None}]
)
def test_a_request_that_is_none_is_told(request_: object, tmp_path: Path) -> None:
    """It never ends in a traceback."""
    assert isinstance(guest("complete_library.py", request_, tmp_path), dict)  # type: ignore[arg-type]  # hostile
