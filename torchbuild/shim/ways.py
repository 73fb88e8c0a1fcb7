"""What becomes of a call that names an address: where it leads instead, or the error that it ends with."""

import errno
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from .asker import ask_of
from .behalf import unix_address
from .destination import Place, is_asked_by_itself, judge, led_to
from .listeners import abstract_sockets, are_below, tcp_sockets
from .notices import Destination
from .relay import Relay
from .sinkholes import Origin, Sinkholes
from .socket_files import SocketFiles

__all__ = ["Way", "Ways", "asker"]


class Way(NamedTuple):
    """What becomes of one address of a call."""

    error: int = 0
    """0 where the call goes on."""
    address: bytes = b""
    """Where it goes on to, if not to the address that it names."""
    wanted: str = ""
    """What the network was asked for by it; empty where that is nothing."""
    kind: str = "address"
    """``address``, or ``service`` for a socket file of the machine."""
    file: Optional[int] = None
    """Held open until the call has ended."""


class Ways:
    """Knows what is the build's own."""

    def __init__(self, relays: List[Relay], sinkholes: Sinkholes, *, alone: bool) -> None:
        """Look at this machine's mounts, before the command starts.

        Args:
            relays: to the endpoints that may be reached.
            sinkholes: where questions for names are led.
            alone: whether no network namespace is around.
        """
        self._relays, self._sinkholes, self._alone = relays, sinkholes, alone
        self._files = SocketFiles()
        self._by_kind: Dict[str, Callable[[int, Destination, Place], Way]] = {
            "file": self._file,
            "abstract": self._abstract,
            "loopback": self._loopback,
            "name-server": self._name_server,
            "elsewhere": self._elsewhere,
        }

    def of(self, pid: int, destination: Destination) -> Way:
        """The way of one address.

        Args:
            pid: the process, or a thread of it, that calls.
            destination: what it names.
        """
        place = judge(destination.address, connects=destination.connects)
        if place.where is not None:
            for relay in self._relays:
                if relay.serves(place.where):
                    return Way(address=led_to(destination.address, relay.port))
        take = self._by_kind.get(place.kind)
        return Way() if take is None else take(pid, destination, place)

    def _file(self, pid: int, destination: Destination, place: Place) -> Way:
        try:
            found = self._files.find(pid, place.raw)
        except OSError as error:
            return Way(error.errno or errno.ECONNREFUSED)
        if found.is_own:
            address = unix_address(found.file) if destination.connects else b""
            return Way(address=address, file=found.file)
        os.close(found.file)
        harmless = is_asked_by_itself(found.path) or is_asked_by_itself(place.text)
        return Way(errno.ECONNREFUSED, wanted="" if harmless else found.path, kind="service")

    def _abstract(self, _pid: int, _destination: Destination, place: Place) -> Way:
        """A namespace has its own names; without one, they are the machine's."""
        if not self._alone or are_below(abstract_sockets(place.raw), os.getpid()):
            return Way()
        return Way(errno.ECONNREFUSED)

    def _loopback(self, _pid: int, _destination: Destination, place: Place) -> Way:
        """As in a namespace: behind a port of the machine's own nobody listens."""
        if not self._alone or place.where is None:
            return Way()
        if are_below(tcp_sockets(place.raw, place.where[1]), os.getpid()):
            return Way()
        return Way(errno.ECONNREFUSED)

    def _name_server(self, pid: int, destination: Destination, place: Place) -> Way:
        try:
            port = self._sinkholes.lead(Origin(asker(pid), place.text))
        except OSError:
            return Way(errno.ENETUNREACH, wanted=place.text)
        return Way(address=led_to(destination.address, port))

    def _elsewhere(self, _pid: int, _destination: Destination, place: Place) -> Way:
        return Way(errno.ENETUNREACH, wanted=place.text)


def asker(pid: int) -> Dict[str, Any]:
    """Who calls, up to the command itself."""
    return ask_of(pid, os.getpid())
