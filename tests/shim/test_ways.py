"""What becomes of an address."""

from __future__ import annotations

import errno
import os
import socket
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.shim.notices import Destination
from torchbuild.shim.sinkholes import Sinkholes
from torchbuild.shim.ways import Way, Ways


@pytest.fixture
def of() -> Callable[..., Way]:
    """The way of an address that this very process names."""

    def judged(address: bytes, *, alone: bool = False, connects: bool = True) -> Way:
        ways = Ways([], Sinkholes({}, denies=False), alone=alone)
        return ways.of(os.getpid(), Destination(0, address, 3, connects))

    return judged


def inet(host: str, port: int) -> bytes:
    """A sockaddr_in."""
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton(host) + bytes(8)


def unix(name: bytes) -> bytes:
    """A sockaddr_un."""
    return struct.pack("=H", socket.AF_UNIX) + name


def test_elsewhere_is_refused_and_told(of: Callable[..., Way]) -> None:
    """As on a machine without a route."""
    assert of(inet("192.0.2.1", 80)) == Way(errno.ENETUNREACH, wanted="192.0.2.1:80")


def test_loopback_is_the_builds_own_in_a_namespace(of: Callable[..., Way]) -> None:
    """Nothing else is there; without a namespace only what processes of the build listen to."""
    with socket.create_server(("127.0.0.1", 0)) as outside:
        address = inet("127.0.0.1", outside.getsockname()[1])

        assert of(address) == Way()
        assert of(address, alone=True) == Way(errno.ECONNREFUSED)


def test_names_in_no_directory_are_the_namespaces(of: Callable[..., Way]) -> None:
    """Without one they are the machine's, and refused as if nobody listened."""
    with socket.socket(socket.AF_UNIX) as outside:
        outside.bind(b"\0torchbuild ways %d" % os.getpid())
        outside.listen()
        address = unix(b"\0torchbuild ways %d" % os.getpid())

        assert of(address) == Way()
        assert of(address, alone=True) == Way(errno.ECONNREFUSED)


def test_a_socket_file_of_the_build_is_held(of: Callable[..., Way]) -> None:
    """The connection goes to the file that was judged, not to what lies at its path by then."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/s")
        way = of(unix(f"{folder}/s".encode()))
        sent = of(unix(f"{folder}/s".encode()), connects=False)

    assert way.file is not None
    assert way.address == unix(b"/proc/self/fd/%d\0" % way.file)
    assert (sent.error, sent.address) == (0, b"")
    for held in (way.file, sent.file):
        assert held is not None
        os.close(held)


def test_a_socket_file_elsewhere_is_a_service(of: Callable[..., Way]) -> None:
    """It is told by where it lies; one that is not there is simply missing."""
    folder = Path(tempfile.mkdtemp(dir=Path(__file__).parent, prefix=".s"))
    server = socket.socket(socket.AF_UNIX)
    try:
        server.bind(f"/proc/self/cwd/{os.path.relpath(folder)}/s")
        way = of(unix(os.fsencode(os.path.relpath(folder / "s"))))
        missing = of(unix(b"/run/nothing/here"))
    finally:
        server.close()
        (folder / "s").unlink(missing_ok=True)
        folder.rmdir()

    assert way == Way(errno.ECONNREFUSED, wanted=str(folder / "s"), kind="service")
    assert missing == Way(errno.ENOENT)
