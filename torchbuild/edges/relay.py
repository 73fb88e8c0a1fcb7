"""The outer half of the way out for named endpoints: socket files in a build, served from this side of it.

Which endpoint a socket file leads to is decided here, where no build can change it; the inner half is
`torchbuild.shim.relay`.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import remove_tree, translated
from torchbuild.errors import UsageError
from torchbuild.model.command import BUILD_ROOT
from torchbuild.shim.relay import join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = ["RELAY_FOLDER", "RelayTold", "relayed", "unreachable"]

RELAY_FOLDER = "relay"
"""Where the socket files lie, below the build's root."""
_ENDPOINT = re.compile(r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_PATIENCE_S = 10.0
_PAUSE_S = 30.0
"""So long an endpoint that did not answer is left alone."""
_MOST_WAITING = 64


@contextlib.contextmanager
def relayed(endpoints: Sequence[str], root: Path, told: RelayTold | None = None) -> Iterator[tuple[str, ...]]:
    """Serve endpoints to a build while the body lasts.

    Args:
        endpoints: ``HOST:PORT`` each; an IPv6 address stands in brackets.
        root: the directory that the build sees at the fixed path.
        told: hears of those that do not answer.

    Yields:
        What `torchbuild.edges.guarded.GuardedExecutor` takes as endpoints.

    Raises:
        UsageError: ``endpoint-invalid``.
        HostError: ``not-writable``, ``disk-full``, ``file-operation-failed``.
    """
    places = [_place(text) for text in endpoints]
    folder = root / RELAY_FOLDER
    with contextlib.ExitStack() as stack:
        with translated(folder):
            remove_tree(folder)  # a link that an earlier build left there is not followed
            if places:
                folder.mkdir(parents=True)
        for number, place in enumerate(places):
            with translated(folder):
                listener = _listen(folder, f"{number}.sock")
            stack.callback(listener.close)
            # Closing alone wakes nobody who waits in accept.
            stack.callback(_shut, listener)
            way = _Way(endpoints[number], place, told or RelayTold())
            threading.Thread(target=way.serve, args=(listener,), daemon=True).start()
        yield tuple(
            f"{text}={BUILD_ROOT}/{RELAY_FOLDER}/{number}.sock" for number, text in enumerate(endpoints)
        )


def _place(text: str) -> tuple[str, int]:
    found = _ENDPOINT.fullmatch(text)
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise UsageError(
            "endpoint-invalid",
            f"{text!r} is no endpoint that a build could be let through to",
            why=("seen: something else", "wanted: HOST:PORT, one host and one port, no scheme and no path"),
            fix="Name the compiler cache's server by host and port.",
        )
    return found["host"].strip("[]"), int(found["port"])


def _listen(folder: Path, name: str) -> socket.socket:
    """A socket file; by way of the directory's descriptor, because its own path may be too long for one."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{handle}/{name}")
        listener.listen(_MOST_WAITING)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(handle)
    return listener


def _shut(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)


def unreachable(host: str, port: int, patience_s: float = 3.0) -> str:
    """Why nobody takes a connection there; empty where somebody does."""
    try:
        with socket.create_connection((host, port), timeout=patience_s):
            return ""
    except OSError as error:
        return error.strerror or "it does not answer"


class RelayTold:
    """Hears once of each endpoint that does not answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, str] = {}
        self._tell: Callable[[str, str], None] | None = None

    def report_to(self, tell: Callable[[str, str], None]) -> None:
        """Tell there, what was heard before as well: endpoint, and why."""
        with self._lock:
            self._tell, seen = tell, dict(self._seen)
        for endpoint, why in seen.items():
            tell(endpoint, why)

    def failed(self, endpoint: str, why: str) -> None:
        """It does not answer."""
        with self._lock:
            tell = None if endpoint in self._seen else self._tell
            self._seen.setdefault(endpoint, why)
        if tell is not None:
            tell(endpoint, why)


class _Way:
    """To one endpoint. After a failure it is left alone for a while: each connection would wait anew."""

    def __init__(self, endpoint: str, place: tuple[str, int], told: RelayTold) -> None:
        self._endpoint, self._place, self._told = endpoint, place, told
        self._closed_until = 0.0

    def serve(self, listener: socket.socket) -> None:
        """Carry each connection, until the listener is shut."""
        with contextlib.suppress(OSError):
            while True:
                inside, _ = listener.accept()
                threading.Thread(target=self._carry, args=(inside,), daemon=True).start()

    def _carry(self, inside: socket.socket) -> None:
        """One connection; an endpoint that is down looks to the build like one that hangs up."""
        with inside:
            if time.monotonic() < self._closed_until:
                return
            try:
                outside = socket.create_connection(self._place, timeout=_PATIENCE_S)
            except OSError as error:
                self._closed_until = time.monotonic() + _PAUSE_S
                self._told.failed(self._endpoint, error.strerror or "it does not answer")
                return
            with outside, contextlib.suppress(OSError):
                outside.settimeout(None)
                join(inside, outside)
