"""Which socket file a process means."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.shim.socket_files import OWN, SocketFiles


@pytest.fixture
def sock(tmp_path: Path) -> Iterator[Path]:
    """A socket file."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        yield tmp_path / "s"


def found(files: SocketFiles, path: str) -> tuple[str, bool]:
    """Where it lies, and whether it is the build's own."""
    seen = files.find(os.getpid(), os.fsencode(path))
    os.close(seen.file)
    return seen.path, seen.is_own


@pytest.mark.parametrize("path", ["{s}", "/{s}", "{d}/./../{n}/s", "/proc/self/root{s}", "{d}/link", "{r}"])
def test_every_path_to_a_file_is_the_same(sock: Path, path: str) -> None:
    """Links, doubled slashes and ways through /proc lead to where the file lies."""
    (sock.parent / "link").symlink_to(sock)
    relative = os.path.relpath(sock)
    written = path.format(s=sock, d=sock.parent, n=sock.parent.name, r=relative)

    assert found(SocketFiles([str(sock.parent)]), written) == (str(sock), True)


def test_only_whole_names_of_directories_count(sock: Path) -> None:
    """A directory whose name begins like one of the build's is another."""
    assert found(SocketFiles([str(sock.parent)[:-1]]), str(sock)) == (str(sock), False)
    assert found(SocketFiles([]), str(sock)) == (str(sock), False)


def test_a_missing_file_is_the_callers_error(tmp_path: Path) -> None:
    """The process gets what the kernel would have told it."""
    with pytest.raises(FileNotFoundError):
        SocketFiles().find(os.getpid(), os.fsencode(tmp_path / "nothing"))


def test_directories_of_a_build_are_those_of_every_executor() -> None:
    """The fixed path and what is private to each command; no directory of the machine."""
    assert OWN == ("/torchbuild", "/tmp", "/dev/shm")
