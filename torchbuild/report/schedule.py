"""When the last of some edges ends, if a number of slots works through them as ninja does.

Ninja starts what is ready, and of that first what stands at the beginning of a long way to the end. What
waits for the same edges becomes ready at the same moment, so edges are kept in groups.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping

from torchbuild.report.build_graph import BuildGraph

__all__ = ["Schedule", "remaining"]

_OVERDUE = 0.2


class Schedule:
    """Of edges by number.

    Args:
        graph: who waits for whom.
        edges: those that will run; all others are taken for done.
    """

    def __init__(self, graph: BuildGraph, edges: Iterable[int]) -> None:
        self._edges = frozenset(edges)
        needs = _real_needs(graph, self._edges)
        numbers: dict[frozenset[int], int] = {}
        self._members: list[list[int]] = []
        self._group: dict[int, int] = {}
        for edge in sorted(self._edges):
            number = numbers.setdefault(needs[edge], len(numbers))
            if number == len(self._members):
                self._members.append([])
            self._members[number].append(edge)
            self._group[edge] = number
        self._needs = list(numbers)
        self._users: dict[int, list[int]] = defaultdict(list)
        for need, number in ((need, number) for number, group in enumerate(self._needs) for need in group):
            self._users[need].append(number)
        self._rank = self._ranked(graph)

    def _ranked(self, graph: BuildGraph) -> dict[int, tuple[int, int]]:
        """Where each stands among those that are ready: the longest way to the end comes first."""
        longest = [0] * len(self._members)
        rank = {}
        for edge in reversed(graph.order):
            if edge in self._edges:
                length = 1 + max((longest[group] for group in self._users.get(edge, ())), default=0)
                rank[edge] = (-length, edge)
                longest[self._group[edge]] = max(longest[self._group[edge]], length)
        return rank

    def end(self, seconds: Mapping[int, float], slots: int, running: Mapping[int, float]) -> float:
        """Seconds until the last one ends.

        Args:
            seconds: what each takes that is not done.
            slots: how many run at once.
            running: those that run, and for how long they have.
        """
        missing = [sum(need in seconds for need in group) for group in self._needs]
        busy = [(remaining(seconds[edge], ran), edge) for edge, ran in running.items() if edge in seconds]
        heapq.heapify(busy)
        ready = [
            self._rank[edge]
            for number, count in enumerate(missing)
            if not count
            for edge in self._members[number]
            if edge in seconds and edge not in running
        ]
        heapq.heapify(ready)
        now = 0.0
        while ready or busy:
            while ready and len(busy) < max(slots, 1):
                edge = heapq.heappop(ready)[1]
                heapq.heappush(busy, (now + seconds[edge], edge))
            now, edge = heapq.heappop(busy)
            for number in self._users.get(edge, ()):
                missing[number] -= 1
                if not missing[number]:
                    for other in self._members[number]:
                        if other in seconds and other not in running:
                            heapq.heappush(ready, self._rank[other])
        return now


def remaining(seconds: float, ran: float) -> float:
    """What an edge still takes: one that should be over by now takes longer than was thought."""
    return max(seconds - ran, _OVERDUE * ran)


def _real_needs(graph: BuildGraph, edges: frozenset[int]) -> dict[int, frozenset[int]]:
    """What each waits for among these, through names that stand for others."""
    through: dict[int, frozenset[int]] = {}
    found: dict[int, frozenset[int]] = {}
    for edge in graph.order:
        direct = frozenset(need for need in graph.needs[edge] if need in edges)
        others = [through[need] for need in graph.needs[edge] if need not in edges and need in through]
        all_ = direct.union(*others) if others else direct
        if edge in edges:
            found[edge] = all_
        else:
            through[edge] = all_
    return found
