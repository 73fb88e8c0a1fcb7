"""Who may compile now: each compiler's peak is reserved before it starts, out of what memory there is.

Nothing here looks at the machine. Bytes and seconds come from who asks.
"""

import posixpath
import re
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

from .budget import Room

__all__ = ["Edge", "Ledger", "Peaks"]

_MARGIN = 1.1
"""A peak that was learned once may be a little higher the next time."""
_GROWN = 1.3
"""What grew beyond its peak goes on growing."""
_PATIENCE_S = 20.0
"""So long smaller compilers may go before a larger one that waits."""
_LIKE, _ENOUGH = 1.4, 6
"""So much more than the largest of its folder an unknown one may take, once so many of them were seen."""
_MOST_EVICTIONS = 2
"""What was put back more often is run alone."""
_SENDING = 192 << 20
"""What is left here of a compiler whose work is done elsewhere: it preprocesses, and waits."""
_MOST_SENDINGS = 2
"""What failed elsewhere more often is compiled here."""


class Edge:
    """One compiler that asks."""

    def __init__(self, name: str, predicted: int, since: float) -> None:
        self.name, self.predicted, self.since = name, predicted, since
        self.seen = 0
        """Bytes that it holds."""
        self.most = 0
        """Bytes that it ever held."""
        self.is_alone = False
        """Whether nothing may run beside it."""
        self.is_lent = False
        """Whether its token was handed on while it waits."""
        self.evictions = 0
        """How often we ended it to make room."""
        self.is_evicted = False
        """Whether we are about to."""
        self.stays = "nothing compiles elsewhere"
        """Why it is compiled here; empty where another machine may."""
        self.host = ""
        """The machine that compiles it; empty where that is this one."""
        self.sendings = 0
        """How often it was sent to one."""

    @property
    def missing(self) -> int:
        """Bytes that it will still take here."""
        return max(0, (_SENDING if self.host else self.predicted) - self.seen)

    @property
    def may_go(self) -> bool:
        """Whether another machine may compile it."""
        return not self.stays and not self.is_alone and self.sendings < _MOST_SENDINGS


class Ledger:
    """Who waits, who runs, and whose work is done elsewhere."""

    def __init__(self) -> None:
        self.waiting: List[Edge] = []
        self.running: List[Edge] = []
        self.away: List[Edge] = []

    @property
    def owed(self) -> int:
        """Tokens that were handed on by who does not work here."""
        return sum(edge.is_lent for edge in (*self.waiting, *self.away))

    def _free(self, room: Room) -> int:
        return room.available - room.reserve - sum(edge.missing for edge in (*self.running, *self.away))

    def sent(self, room: Room, take: Callable[[], Optional[str]]) -> Iterator[Edge]:
        """Send away who may go, in the order in which they came: only what remains here of them needs memory.

        Args:
            room: as for `admitted`.
            take: a machine that has room, by name; None where there is none.
        """
        free = self._free(room)
        for edge in [edge for edge in self.waiting if edge.may_go]:
            is_first = not self.running and not self.away
            if any(other.is_alone for other in self.running) or (free < _SENDING and not is_first):
                return
            host = take()
            if host is None:
                return
            edge.host, edge.seen = host, 0
            edge.sendings += 1
            self.waiting.remove(edge)
            self.away.append(edge)
            free -= _SENDING
            yield edge

    def returned(self, edge: Edge, now: float) -> None:
        """It was not compiled elsewhere: it waits again, before all others."""
        edge.host, edge.seen, edge.since = "", 0, now
        self.away.remove(edge)
        self.waiting.insert(0, edge)

    def admitted(self, room: Room, now: float, has_token: Callable[[Edge], bool]) -> Iterator[Edge]:
        """Let in who fits, in the order in which they came; a large one is passed by for a while only.

        Args:
            room: what memory there is, as of the moment when `Edge.seen` was looked at.
            now: the time.
            has_token: whether an edge has a token, or gets back the one that it lent.
        """
        free = self._free(room)
        for edge in list(self.waiting):
            if any(other.is_alone for other in self.running):
                return
            is_first = not self.running
            if (edge.is_alone or edge.predicted > free) and not is_first:
                if edge.is_alone or now - edge.since > _PATIENCE_S:
                    return
                continue
            if not has_token(edge):
                continue
            self.waiting.remove(edge)
            self.running.append(edge)
            free -= edge.predicted
            yield edge

    def measured(self, bytes_of: Callable[[Edge], int]) -> None:
        """Note what each holds now."""
        for edge in self.running:
            edge.seen = bytes_of(edge)
            edge.most = max(edge.most, edge.seen)
            if edge.seen > edge.predicted:
                edge.predicted = int(edge.seen * _GROWN)
        for edge in self.away:
            edge.seen = bytes_of(edge)

    def to_evict(self, room: Room) -> Optional[Edge]:
        """Who is ended so that the others can go on: the youngest, where memory is nearly gone."""
        if room.available >= room.reserve // 3 or any(edge.is_evicted for edge in self.running):
            return None
        candidates = [edge for edge in self.running if not edge.is_alone]
        return candidates[-1] if len(self.running) > 1 and candidates else None

    def killed(self, edge: Edge, peak: int, now: float) -> bool:
        """It was killed. Whether it is run again: alone, once; beside others where it was we who did it."""
        was_alone = edge.is_alone
        edge.predicted = max(edge.predicted, int(max(peak, edge.most) * _GROWN))
        if edge.is_evicted:
            edge.evictions += 1
            edge.is_alone = edge.evictions > _MOST_EVICTIONS
        elif was_alone:
            return False
        else:
            edge.is_alone = True
        edge.seen, edge.is_evicted, edge.since = 0, False, now
        self.running.remove(edge)
        self.waiting.insert(0, edge)
        return True

    def over(self, edge: Edge) -> None:
        """It has ended, or is gone."""
        for edges in (self.waiting, self.running, self.away):
            if edge in edges:
                edges.remove(edge)


class _Prior(NamedTuple):
    pattern: "re.Pattern[str]"
    program: "re.Pattern[str]"
    peak: int


class Peaks:
    """What compilers are expected to take: as they were seen, else as somebody has told of their like."""

    def __init__(self, told: Dict[str, Any]) -> None:
        """Read what the stage has written.

        Args:
            told: ``priors``, a list of ``pattern``, ``program``, ``bytes``: the first that fits counts;
                ``learned``, bytes by edge; ``other``, bytes of all others.
        """
        self._learned = dict(told.get("learned", {}))
        self._priors = [
            _Prior(re.compile(row["pattern"]), re.compile(row["program"]), int(row["bytes"]))
            for row in told.get("priors", ())
        ]
        self._other = int(told.get("other", 0))
        self._folders: Dict[str, List[int]] = {}

    def predicted(self, name: str, program: str, threads: int) -> int:
        """Bytes, for an output and the compiler that makes it.

        Args:
            name: the output, relative to the build tree.
            program: file name of the compiler.
            threads: how many it compiles with at once; each counts where nothing was learned.
        """
        if name in self._learned:
            return int(self._learned[name] * _MARGIN)
        for prior in self._priors:
            if prior.program.search(program) and prior.pattern.search(name):
                return prior.peak * max(1, threads)
        like = self._folders.get(posixpath.dirname(name), [])
        known = int(max(like) * _LIKE) if len(like) >= _ENOUGH else self._other
        return min(known, self._other) * max(1, threads)

    def learn(self, name: str, peak: int) -> bool:
        """Note a peak. Whether it is news."""
        known = self._learned.get(name, 0)
        self._learned[name] = peak
        self._folders.setdefault(posixpath.dirname(name), []).append(peak)
        return bool(abs(peak - known) * 10 > known)
