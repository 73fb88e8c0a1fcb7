"""What executors without an engine share; what each promises is in tests/contract."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.edges.local import LocalExecutor
from torchbuild.edges.sandboxed import SandboxExecutor
from torchbuild.errors import HostError
from torchbuild.model.command import Command

PATH = (("PATH", "/usr/bin:/bin"),)


@pytest.fixture
def executor(tmp_path: Path) -> SandboxExecutor:
    """One on this machine's own files."""
    return LocalExecutor(root=tmp_path / "w" / "root", store=tmp_path / "store", cache=tmp_path / "cache")


@pytest.fixture(params=["/run", "/tmp"])
def service(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A socket of this machine where services and agents have theirs."""
    path = Path(request.param) / f"torchbuild-test-{secrets.token_hex(6)}"
    if not os.access(path.parent, os.W_OK):
        pytest.skip(f"{path.parent} is closed to this user")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield path
    path.unlink()


def test_sockets_of_the_machine_cannot_be_reached(
    executor: SandboxExecutor, service: Path, tmp_path: Path
) -> None:
    """A build cannot ask an engine, a bus or an agent of this machine: no path leads to its socket."""
    command = Command(argv=("/bin/sh", "-c", "ls -A /run /tmp; test ! -e $0", str(service)), environ=PATH)
    done = executor.run(command, log=tmp_path / "log")
    assert (done.exit_code, service.name in done.tail) == (0, False)


def test_network_keeps_its_resolver(executor: SandboxExecutor, tmp_path: Path) -> None:
    """A command that may use the network finds the machine's name servers, wherever their file lies."""
    told = Path("/etc/resolv.conf")
    if not told.is_file():
        pytest.skip("this machine has no name servers")
    command = Command(argv=("/bin/cat", str(told)), network="host")
    executor.run(command, log=tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == told.read_bytes()


def test_temporary_files_of_a_killed_run_are_beside_the_root(
    executor: SandboxExecutor, tmp_path: Path
) -> None:
    """They lie where the next run of the workspace sweeps, and never inside the build's own directory."""
    seen: list[list[str]] = []

    def look(_: str) -> None:
        seen.append(sorted(path.name[:15] for path in (tmp_path / "w").iterdir()))

    executor.run(Command(argv=("/bin/echo", "line")), log=tmp_path / "log", on_line=look)
    assert (seen, [path.name for path in (tmp_path / "w").iterdir()]) == (
        [[".torchbuild-tmp", "root"]],
        ["root"],
    )


def test_texts_fit_the_executor(executor: SandboxExecutor, tmp_path: Path) -> None:
    """What is missing on this machine is installed there, or an image is named: no engine decides that."""
    with pytest.raises(HostError) as caught:
        executor.run(Command(argv=("/no/such",)), log=tmp_path / "log")
    assert ("[image]" in caught.value.fix, "machine.engine" in caught.value.fix) == (True, False)
