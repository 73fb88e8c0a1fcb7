"""A compiler cache elsewhere, reached from a build without a network: that one endpoint, and no other."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchbuild.context import Completed
from torchbuild.edges.guarded import GuardedExecutor
from torchbuild.edges.relay import RELAY_FOLDER, RelayTold, relayed, unreachable
from torchbuild.errors import StageError, UsageError
from torchbuild.model.command import Command

Make = Callable[..., GuardedExecutor]

ASK = """
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"key")
print(s.recv(100))
"""


@pytest.fixture
def server() -> Iterator[int]:
    """A server of this machine that answers in capitals; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(connection.recv(100).upper())

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    listener.close()


def ask(executor: GuardedExecutor, top: Path, port: int) -> Completed:
    """Ask the server from a build in a network namespace."""
    command = Command(argv=(str(Path(sys.executable).resolve()), "-I", "-S", "-c", ASK, str(port)))
    return executor.run(command, log=top / "log")


def test_a_named_endpoint_answers_in_a_build(tmp_path: Path, server: int, make_guarded: Make) -> None:
    """Through the build's namespace, by the address that the recipe names; however long its path is."""
    top = tmp_path / ("long" * 30)
    (top / "root").mkdir(parents=True)

    with relayed([f"127.0.0.1:{server}"], top / "root") as endpoints:
        assert ask(make_guarded(top, endpoints=endpoints), top, server).tail == ("b'KEY'",)


def test_an_endpoint_that_is_not_named_does_not(tmp_path: Path, server: int, make_guarded: Make) -> None:
    """The build's loopback device is its own: the same port of this machine is not there."""
    (tmp_path / "root").mkdir()
    with relayed(["127.0.0.1:9"], tmp_path / "root") as endpoints:
        assert ask(make_guarded(endpoints=endpoints), tmp_path, server).exit_code == 1


def test_an_endpoint_that_is_down_hangs_up(tmp_path: Path, make_guarded: Make) -> None:
    """A compiler cache falls back to compiling; the build is not stopped."""
    (tmp_path / "root").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        port = taken.getsockname()[1]
        with relayed([f"127.0.0.1:{port}"], tmp_path / "root") as endpoints:
            assert ask(make_guarded(endpoints=endpoints), tmp_path, port).exit_code in (0, 1)


def test_other_addresses_are_asked_for_in_vain(tmp_path: Path, make_guarded: Make) -> None:
    """Naming an endpoint opens nothing else."""
    (tmp_path / "root").mkdir()
    command = Command(argv=("/usr/bin/getent", "hosts", "other.example"))
    with relayed(["cache.example:6379"], tmp_path / "root") as endpoints, pytest.raises(StageError) as caught:
        make_guarded(endpoints=endpoints).run(command, log=tmp_path / "log")

    assert "other.example" in caught.value.what


def test_nothing_is_left_to_listen(tmp_path: Path) -> None:
    """After the build its socket files lead nowhere; a link in their place is not followed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / RELAY_FOLDER).symlink_to(outside)

    with relayed(["127.0.0.1:9"], tmp_path):
        pass

    with socket.socket(socket.AF_UNIX) as client, pytest.raises(ConnectionRefusedError):
        client.connect(str(tmp_path / RELAY_FOLDER / "0.sock"))
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", "host", "redis://host:1", "host:0", "host:65536", "a b:1", "host:1/x", "-h:1", "::1:1"]
)
def test_what_is_no_endpoint_is_refused(tmp_path: Path, text: str) -> None:
    """A wrong word opens nothing, and is named."""
    with pytest.raises(UsageError) as caught, relayed([text], tmp_path):
        pass

    assert caught.value.reference == "endpoint-invalid"


def test_an_endpoint_that_is_down_is_told_once_and_left_alone(tmp_path: Path) -> None:
    """A cache asks for each compilation: not each of them may wait for a server that is gone."""
    told, heard = RelayTold(), list[tuple[str, str]]()
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with relayed([f"127.0.0.1:{port}"], tmp_path, told):
        for _ in range(3):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(tmp_path / RELAY_FOLDER / "0.sock"))
                assert client.recv(1) == b""
        told.report_to(lambda endpoint, why: heard.append((endpoint, why)))

    assert heard == [(f"127.0.0.1:{port}", "Connection refused")]


def test_whether_somebody_answers_is_seen_at_once(server: int) -> None:
    """By a connection, without a word."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]

    assert unreachable("127.0.0.1", server) == ""
    assert unreachable("127.0.0.1", port) == "Connection refused"
