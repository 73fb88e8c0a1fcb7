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


class Edge:
    """One compiler that asks."""

    def __init__(self, name: str, predicted: int, since: float, *, is_blind: bool = False) -> None:
        self.name, self.predicted, self.since = name, predicted, since
        self.seen = 0
        """Bytes that it holds."""
        self.most = 0
        """Bytes that it ever held."""
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

    @property
    def missing(self) -> int:
        """Bytes that it will still take."""
        return max(0, self.predicted - self.seen)


class Ledger:
    """Who waits and who runs."""

    def __init__(self) -> None:
        self.waiting: List[Edge] = []
        self.running: List[Edge] = []

    def admitted(self, room: Room, now: float, has_token: Callable[[Edge], bool]) -> Iterator[Edge]:
        """Let in who fits, in the order in which they came; a large one is passed by for a while only.

        Args:
            room: what memory there is, as of the moment when `Edge.seen` was looked at.
            now: the time.
            has_token: whether an edge has a token, or gets back the one that it lent.
        """
        free = room.available - room.reserve - sum(edge.missing for edge in self.running)
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

    def to_evict(self, room: Room) -> Optional[Edge]:
        """Who is ended so that the others can go on: the youngest, where memory is nearly gone."""
        if room.available >= room.reserve // 3 or any(edge.is_evicted for edge in self.running):
            return None
        candidates = [edge for edge in self.running if not edge.is_alone and not edge.is_blind]
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
        for edges in (self.waiting, self.running):
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
