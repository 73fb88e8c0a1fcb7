"""What launchers say to the supervisor, a line each; whatever a build says beside that is nobody's order.

Code of the build can talk to the supervisor as launchers do. It may say what it likes of its own compilers;
it never makes us crash, keep without bound, or touch what is not below our ninja.
"""

import os
import resource
import socket
from typing import Iterator, List, NamedTuple, Optional

from .admission import Edge
from .nvcc_threads import threads_of
from .processes import is_below

__all__ = ["Asked", "Client", "most_clients", "number", "read_question"]

_LONGEST = 1 << 15
"""A launcher's longest line is shorter."""
_DIGITS = 13
"""Of the largest number that means anything here: kilobytes."""


class Client:
    """A launcher that is connected."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.edge: Optional[Edge] = None
        self.pid = 0
        """The launcher's; 0 where nobody knows: its compiler is not measured then, nor ended."""
        self.stands = 0
        """What stands for it below ninja: itself, or who waits for a cache's server that started it."""
        self._heard = b""

    def lines(self, got: bytes) -> Iterator[List[str]]:
        """Words of each whole line.

        Raises:
            ValueError: no launcher speaks so.
        """
        self._heard += got
        while b"\n" in self._heard:
            line, self._heard = self._heard.split(b"\n", 1)
            yield os.fsdecode(line).split("\t")
        if len(self._heard) > _LONGEST:
            raise ValueError("a line without an end")


class Asked(NamedTuple):
    """A compiler that is about to be started."""

    pid: int
    program: str
    """Its file name."""
    name: str
    """Its output, relative to the build tree where it lies there."""
    threads: int
    is_blind: bool = False
    """Whether its memory is held by others than what is below it."""
    stays: str = "not told"
    """Why no other machine may compile it; empty where one may."""
    client: int = 0
    """Who waits below ninja for the cache's server that started it; 0 where no server did."""


def read_question(words: List[str], build_dir: str, ninja: int, server: int = 0) -> Asked:
    """What stands behind ``ask``.

    Args:
        words: process, program, folder and output; where a cache's server compiles, ``blind`` or the process
            that waits for that server; why no other machine may compile it.
        build_dir: what outputs are named relative to.
        ninja: process that all compilers are below.
        server: process of a cache that compilers may be below instead; 0 for none.

    Raises:
        ValueError: these are no such words.
    """
    told, program, folder, output, *more = words
    if len(more) > 2:  # noqa: PLR2004
        raise ValueError("too many words")
    name = os.path.join(folder, output)
    if name.startswith(build_dir + os.sep):
        name = name[len(build_dir) + 1 :]
    pid = number(told)
    # it says so itself: who connected may have been a guard
    known = pid if is_below(pid, ninja) or is_below(pid, server) else 0
    through, stays = (*more, *("", "not told")[len(more) :])
    client = number(through) if through.isdigit() else 0
    return Asked(
        known,
        os.path.basename(program),
        name,
        threads_of(known, program, folder),
        through == "blind",
        stays,
        client if is_below(client, ninja) else 0,
    )


def most_clients() -> int:
    """So many files may be open, less those that the supervisor needs itself."""
    return max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 64)


def number(text: str) -> int:
    """A number of reasonable size.

    Raises:
        ValueError: it is none.
    """
    if len(text) > _DIGITS:
        raise ValueError("too long for a number")
    return max(0, int(text))
