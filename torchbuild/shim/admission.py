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
_SEEN_S, _AHEAD_S = 1.0, 3.0
"""Who has compiled for so long shows how fast it grows, and is expected to go on so for so long."""
_HOPED = 4
"""An unknown one is tried where this part of what is expected of it is free: it may take less."""
_MOST_MISTAKES = 2
"""Where guessing has cost so many compilers, nobody guesses any more."""
_PATIENCE_S = 20.0
"""So long smaller compilers may go before a larger one that waits."""
_LIKE, _USUAL = 1.4, 2.0
"""So much more than the largest of its folder an unknown one may take, or than they take on average: what
grows beyond that is seen, and the youngest makes room."""
_ENOUGH, _DOUBT = 6, 0.3
"""Once so many of a folder were seen; and how much more for each that is missing."""
_MOST_EVICTIONS = 2
"""What was put back more often is run alone."""
_SENDING = 192 << 20
"""What is left here of a compiler whose work is done elsewhere: it preprocesses, and waits."""
_MOST_SENDINGS = 2
"""What failed elsewhere more often is compiled here."""


class Edge:
    """One compiler that asks."""

    def __init__(
        self, name: str, predicted: int, since: float, threads: int = 1, *, is_blind: bool = False
    ) -> None:
        self.name, self.predicted, self.since, self.threads = name, predicted, since, threads
        self.is_guess = False
        """Whether what is expected of it is only what its like took."""
        self.begun = 0.0
        """When it was let in."""
        self.seen = 0
        """Bytes that it holds."""
        self.most = 0
        """Bytes that it ever held."""
        self.has_run = False
        """Whether it was let in, and may have been killed since."""
        self.is_blind = is_blind
        """Whether others than itself hold its memory: it is neither measured nor ended to make room."""
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

    def soon(self, now: float) -> int:
        """Bytes that it will take in the next seconds, where it is seen how fast it grows."""
        age = now - self.begun
        is_seen = self.is_guess and age >= _SEEN_S
        return min(self.missing, int(self.seen / age * _AHEAD_S)) if is_seen else self.missing


class Ledger:
    """Who waits, who runs, and whose work is done elsewhere."""

    def __init__(self, slots: int) -> None:
        """Nobody does.

        Args:
            slots: how many threads may run at once, all compilers together.
        """
        self.waiting: List[Edge] = []
        self.running: List[Edge] = []
        self.away: List[Edge] = []
        self._slots = slots
        self._growth = 0
        self._mistakes = 0

    @property
    def idle(self) -> int:
        """Jobs that have a token and do nothing: who waits, less the threads of others beyond their first."""
        return max(0, len(self.waiting) - sum(edge.threads - 1 for edge in self.running))

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
            edge.host, edge.seen, edge.has_run = host, 0, True
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
        slots = self._slots - sum(edge.threads for edge in self.running)
        for edge in list(self.waiting):
            if any(other.is_alone for other in self.running):
                return
            is_first = not self.running
            does_fit = edge.predicted <= free or self._may_try(edge, room, now)
            is_large = edge.is_alone or not does_fit or edge.threads > slots
            if is_large and not is_first:
                if edge.is_alone or now - edge.since > _PATIENCE_S:
                    return
                continue
            if not has_token(edge):
                continue
            self.waiting.remove(edge)
            self.running.append(edge)
            edge.has_run = True
            edge.begun = now
            free -= edge.predicted
            slots -= edge.threads
            yield edge

    def _may_try(self, edge: Edge, room: Room, now: float) -> bool:
        """One more of which nobody knows, where those that run show that there is room: else all go in a row.

        If that was wrong, the youngest makes room: see `to_evict`.
        """
        if not edge.is_guess or self._mistakes >= _MOST_MISTAKES:
            return False
        if any(other.is_guess and now - other.begun < _SEEN_S for other in self.running):
            return False
        soon = sum(other.soon(now) for other in self.running) + sum(other.missing for other in self.away)
        return edge.predicted // _HOPED <= room.available - room.reserve - soon

    def measured(self, bytes_of: Callable[[Edge], int]) -> None:
        """Note what each holds now."""
        before = sum(edge.seen for edge in self.running)
        for edge in self.running:
            edge.seen = bytes_of(edge)
            edge.most = max(edge.most, edge.seen)
            if edge.seen > edge.predicted:
                edge.predicted = int(edge.seen * _GROWN)
        self._growth = sum(edge.seen for edge in self.running) - before
        for edge in self.away:
            edge.seen = bytes_of(edge)

    def to_evict(self, room: Room) -> Optional[Edge]:
        """Who is ended so that others can go on: the youngest, where memory will be gone by the next look."""
        is_enough = room.available >= max(room.reserve // 3, self._growth)
        if is_enough or any(edge.is_evicted for edge in self.running):
            return None
        candidates = [edge for edge in self.running if edge.seen and not edge.is_alone and not edge.is_blind]
        return candidates[-1] if len(self.running) > 1 and candidates else None

    def killed(self, edge: Edge, peak: int, now: float) -> bool:
        """It was killed. Whether it is run again: alone, once; beside others where it was we who did it."""
        was_alone = edge.is_alone
        self._mistakes += 1
        edge.predicted = max(edge.predicted, int(max(peak, edge.most) * _GROWN))
        if edge.is_evicted:
            edge.evictions += 1
            edge.is_alone = edge.evictions > _MOST_EVICTIONS
        elif was_alone:
            return False
        else:
            edge.is_alone = True
        edge.seen, edge.is_evicted, edge.is_guess, edge.since = 0, False, False, now
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


class _Seen(NamedTuple):
    """What compilers of one folder took."""

    edges: int
    total: int
    most: int

    @property
    def next(self) -> int:
        """What another one is expected to take."""
        doubt = max(0, _ENOUGH - self.edges) * _DOUBT
        return int(min(self.most * (_LIKE + doubt), self.total / self.edges * (_USUAL + doubt)))


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
        self._folders: Dict[str, _Seen] = {}

    def predicted(self, name: str, program: str, threads: int) -> int:
        """Bytes, for an output and the compiler that makes it.

        Args:
            name: the output, relative to the build tree.
            program: file name of the compiler.
            threads: how many it compiles with at once; each counts where nothing was learned.
        """
        if name in self._learned:
            return int(self._learned[name] * _MARGIN)
        prior = self._prior(name, program)
        if prior is not None:
            return prior.peak * max(1, threads)
        seen = self._folders.get(posixpath.dirname(name))
        return min(seen.next if seen else self._other, self._other) * max(1, threads)

    def is_guess(self, name: str, program: str) -> bool:
        """Whether nothing is known of an output itself, or of its kind."""
        return name not in self._learned and self._prior(name, program) is None

    def _prior(self, name: str, program: str) -> Optional[_Prior]:
        fitting = (row for row in self._priors if row.program.search(program) and row.pattern.search(name))
        return next(fitting, None)

    def learn(self, name: str, peak: int) -> bool:
        """Note a peak. Whether it is news."""
        known = self._learned.get(name, 0)
        self._learned[name] = peak
        seen = self._folders.get(posixpath.dirname(name), _Seen(0, 0, 0))
        self._folders[posixpath.dirname(name)] = _Seen(
            seen.edges + 1, seen.total + peak, max(seen.most, peak)
        )
        return bool(abs(peak - known) * 10 > known)
