"""The name servers of a build: one for each program that asks, for as long as it may ask."""

import contextlib
import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Tuple

from .sinkhole import Sinkhole

__all__ = ["Origin", "Sinkholes"]

_MOST = 64
"""Kept open at a time, of those that were asked; the rest of the machine's descriptors are the relays'."""


class Origin(NamedTuple):
    """Who was led to a name server of ours."""

    asker: Dict[str, Any]
    """As `torchbuild.shim.asker.ask_of` tells it."""
    text: str
    """The address that it wanted."""


class Sinkholes:
    """All of them."""

    def __init__(self, addresses: Mapping[str, str], *, denies: bool) -> None:
        """None yet; the arguments are those of each `torchbuild.shim.sinkhole.Sinkhole`."""
        self._addresses = addresses
        self._denies = denies
        self._open: Dict[Tuple[Any, ...], Sinkhole] = {}

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def lead(self, origin: Origin) -> int:
        """The port to which this program's questions are led.

        Raises:
            OSError: none is to be had.
        """
        key = (origin.asker["pid"], *origin.asker["argv"])
        sinkhole = self._open.pop(key, None)
        if sinkhole is None:
            self._close_some()
            sinkhole = Sinkhole(origin, self._addresses, denies=self._denies)
        sinkhole.origin = origin
        sinkhole.answered = False
        self._open[key] = sinkhole  # at the end: the latest is the last to be closed
        return sinkhole.port

    def descriptors(self) -> List[int]:
        """What to poll."""
        return [descriptor for sinkhole in self._open.values() for descriptor in sinkhole.descriptors]

    def taken(self, ready: List[int]) -> Iterator[Tuple[Origin, str]]:
        """Names that were asked for and may not be, from those descriptors that can be read."""
        for sinkhole in list(self._open.values()):
            for descriptor, take in sinkhole.descriptors.items():
                if descriptor in ready:
                    for name in take():
                        yield sinkhole.origin, name

    def unasked(self) -> Iterator[Origin]:
        """Who went to a name server and asked nothing: it wanted the address."""
        for sinkhole in self._open.values():
            if not sinkhole.answered:
                yield sinkhole.origin

    def _close_some(self) -> None:
        """Of those with nothing left to read: programs that are gone, and the oldest beyond a number."""
        done = [key for key, sinkhole in self._open.items() if sinkhole.answered and sinkhole.is_quiet()]
        gone = [key for key in done if not os.path.exists("/proc/%d" % key[0])]
        over = max(0, len(done) - len(gone) - _MOST)
        living = [key for key in done if key not in gone]
        for key in [*gone, *living[:over]]:
            with contextlib.suppress(OSError):
                self._open.pop(key).close()
