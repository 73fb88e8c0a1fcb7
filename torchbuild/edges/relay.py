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
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import remove_tree, translated
from torchbuild.errors import UsageError
from torchbuild.model.command import BUILD_ROOT
from torchbuild.shim.relay import join

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["RELAY_FOLDER", "relayed"]

RELAY_FOLDER = "relay"
"""Where the socket files lie, below the build's root."""
_ENDPOINT = re.compile(r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_PATIENCE_S = 10.0
_MOST_WAITING = 64


@contextlib.contextmanager
def relayed(endpoints: Sequence[str], root: Path) -> Iterator[tuple[str, ...]]:
    """Serve endpoints to a build while the body lasts.

    Args:
        endpoints: ``HOST:PORT`` each; an IPv6 address stands in brackets.
        root: the directory that the build sees at the fixed path.

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
            threading.Thread(target=_serve, args=(listener, place), daemon=True).start()
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


def _serve(listener: socket.socket, place: tuple[str, int]) -> None:
    with contextlib.suppress(OSError):
        while True:
            inside, _ = listener.accept()
            threading.Thread(target=_carry, args=(inside, place), daemon=True).start()


def _carry(inside: socket.socket, place: tuple[str, int]) -> None:
    """One connection; an endpoint that is down looks to the build like one that hangs up."""
    with (
        inside,
        contextlib.suppress(OSError),
        socket.create_connection(place, timeout=_PATIENCE_S) as outside,
    ):
        outside.settimeout(None)
        join(inside, outside)
