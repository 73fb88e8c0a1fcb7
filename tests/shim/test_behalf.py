"""Another process's socket, connected for it."""

from __future__ import annotations

import errno
import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from torchbuild.shim.behalf import can_connect, connect, is_blocking, process_of, socket_of, unix_address

OWNER = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
print(s.fileno(), flush=True)
sys.stdin.readline()
print(s.getpeername())
"""


@pytest.fixture(autouse=True)
def lent() -> None:
    """The kernel, or a container's profile, may lend no sockets."""
    if not can_connect():
        pytest.skip("no sockets of other processes here")


def test_a_socket_is_connected_for_its_owner(tmp_path: Path) -> None:
    """The owner finds its own socket connected: to the file that we hold, which is gone from its path."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        file = os.open(tmp_path / "s", os.O_PATH)
        (tmp_path / "s").unlink()
        with subprocess.Popen(
            [sys.executable, "-I", "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as owner:
            assert owner.stdout is not None
            held = socket_of(owner.pid, int(owner.stdout.readline()))
            assert is_blocking(held)
            assert connect(held, unix_address(file)) == 0
            os.close(held)
            os.close(file)
            assert owner.communicate("\n")[0] == f"{tmp_path / 's'}\n"


def test_an_error_is_the_owners() -> None:
    """What the kernel says of an address is handed on as it is."""
    with socket.socket() as mine:
        mine.setblocking(False)

        assert not is_blocking(mine.fileno())
        assert connect(mine.fileno(), struct.pack("=H", 99)) == errno.EINVAL


def test_what_is_no_socket_of_theirs_is_told() -> None:
    """A number that the process has not opened is its own error."""
    with pytest.raises(OSError) as caught:
        socket_of(os.getpid(), 1 << 20)

    assert caught.value.errno == errno.EBADF


def test_a_thread_belongs_to_its_process() -> None:
    """Descriptors are asked of the process, whichever thread of it calls; one that is gone stays itself."""
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(process_of(threading.get_native_id())))
    thread.start()
    thread.join()
    with subprocess.Popen(["/bin/true"]) as gone:
        gone.wait()

    assert seen == [os.getpid()]
    assert process_of(gone.pid) == gone.pid
