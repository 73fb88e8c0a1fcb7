"""The only way out of a build: to endpoints that the recipe's machine table names, and to no other.

Inside, a named endpoint has an address of the loopback device; what connects there reaches a socket file
that lies in the build and is served from outside it. Which endpoint that is, is decided outside.
"""

import contextlib
import socket
import threading
from typing import NamedTuple, Tuple

__all__ = ["Endpoint", "Relay", "join", "parse_endpoint"]

_CHUNK = 1 << 16


class Endpoint(NamedTuple):
    """One endpoint that may be reached."""

    host: str
    """A name in lower case, or an address."""
    port: int
    path: str
    """The socket file behind which it is."""


def parse_endpoint(text: str) -> Endpoint:
    """``HOST:PORT=PATH``; an IPv6 address stands in brackets.

    Raises:
        ValueError: it is none.
    """
    where, _, path = text.partition("=")
    host, _, port = where.rpartition(":")
    if not host or not path or not 0 < int(port) < 1 << 16:
        raise ValueError("%s: not HOST:PORT=PATH" % text)
    return Endpoint(host.strip("[]").lower(), int(port), path)


class Relay:
    """Takes connections inside the build, for one endpoint."""

    def __init__(self, endpoint: Endpoint, number: int) -> None:
        """Listen on a free port.

        Args:
            endpoint: where connections lead.
            number: from 0; gives the endpoint's name its own loopback address.
        """
        self.endpoint = endpoint
        self.address = "127.1.%d.%d" % divmod(number + 1, 256)
        """What the endpoint's name means inside."""
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(64)
        self.port = int(self._listener.getsockname()[1])
        """Where the guard leads connections to the endpoint."""
        threading.Thread(target=self._serve, daemon=True).start()

    def serves(self, where: Tuple[str, int]) -> bool:
        """Whether this address and port are the endpoint."""
        return where[1] == self.endpoint.port and where[0] in (self.address, self.endpoint.host)

    def _serve(self) -> None:
        while True:
            inside, _ = self._listener.accept()
            threading.Thread(target=self._carry, args=(inside,), daemon=True).start()

    def _carry(self, inside: socket.socket) -> None:
        outside = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with inside, outside:
            try:
                outside.connect(self.endpoint.path)
            except OSError:  # to the program it is an endpoint that is down
                return
            join(inside, outside)


def join(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until both have ended."""
    back = threading.Thread(target=_copy, args=(other, one), daemon=True)
    back.start()
    _copy(one, other)
    back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            chunk = source.recv(_CHUNK)
            if not chunk:
                break
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
